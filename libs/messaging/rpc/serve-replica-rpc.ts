import { replicaPattern, type Rpc } from '@fairlead/contracts';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import { RateLimitedLog } from '@fairlead/limits';
import type { Logger } from '@fairlead/observability';
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import type { z } from 'zod';
import { checkRequest, readRequest, type ReceivedRequest, type RpcRequest } from './rpc-request.js';

/** A replica is asked by people, through one service: more at once is somebody else's doing. */
const MAX_AT_ONCE = 16;

export interface ReplicaRpcOptions {
  readonly nc: NatsConnection;
  /** Credential of this replica. */
  readonly replica: string;
  readonly logger: Logger;
}

/**
 * Answers an RPC for this replica alone, without a framework. Caller and input are checked as for any RPC; what the handler throws goes to the caller. It
 * ends with the connection, and outlives that being lost for a while.
 */
export function serveReplicaRpc<R extends Rpc>(
  rpc: R,
  handle: (request: RpcRequest<R>) => Promise<z.input<R['output']>>,
  { nc, replica, logger }: ReplicaRpcOptions,
): void {
  const lines = new RateLimitedLog();
  let running = 0;
  const answer = async (message: Msg): Promise<void> => {
    let request: ReceivedRequest | undefined;
    running += 1;
    try {
      request = readRequest(message);
      if (running > MAX_AT_ONCE) throw new FairleadError('RATE_LIMITED', 'too many requests at once');
      const response = await handle(checkRequest(rpc, request));
      message.respond(JSON.stringify({ id: request.id, response, isDisposed: true }));
    } catch (error) {
      const failure = toFairleadError(error);
      const line = lines.nextOf(failure.code);
      if (line)
        logger.warn('rpc.refused', { method: rpc.method, code: failure.code, reason: failure.message, ...line });
      if (request) message.respond(JSON.stringify({ id: request.id, err: failure.toWire(), isDisposed: true }));
    } finally {
      running -= 1;
    }
  };
  nc.subscribe(replicaPattern(rpc, replica), {
    callback: (error, message) => {
      if (error) logger.error('rpc.subscription_refused', { method: rpc.method, reason: error.message });
      else void answer(message);
    },
  });
}
