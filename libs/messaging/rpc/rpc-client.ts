import { replicaSubject, rpcSubject, type Caller, type Rpc } from '@fairlead/contracts';
import { FairleadError, fromWire } from '@fairlead/errors';
import { errors, nuid, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { z } from 'zod';
import { connectionState, whileConnected } from '../connection/connection-state.js';

/** Largest request and largest answer. */
export const MAX_RPC_BYTES = 256 * 1024;
const MAX_IN_FLIGHT = 1_024;

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Of an RPC that one replica answers: its credential. */
  readonly replica?: string;
}

export interface RpcClient {
  /**
   * Asks a service. Errors of the service arrive as they were thrown. UNAVAILABLE: NATS or the service is away and the
   * request was not sent; DEADLINE_EXCEEDED: no answer in `rpc.timeoutMs`, or the connection broke while waiting, so the
   * request may have been carried out; TOO_LARGE, RATE_LIMITED: refused here. Nothing is queued while NATS is away.
   */
  call<In extends z.ZodType, Out extends z.ZodType>(
    rpc: Rpc<In, Out>,
    tenantId: string,
    input: z.input<In>,
    options?: CallOptions,
  ): Promise<z.output<Out>>;
}

/** What Nest's NATS transport answers. */
const Answer = z.object({ response: z.unknown().optional(), err: z.unknown().optional() });

/** A client that calls as `caller`; NATS refuses it unless the connection's credential is that caller's. */
export function createRpcClient(nc: NatsConnection, caller: Caller): RpcClient {
  const state = connectionState(nc);
  let inFlight = 0;
  return {
    async call(rpc, tenantId, input, options = {}) {
      const text = encode(rpc, input);
      if (inFlight >= MAX_IN_FLIGHT) {
        throw new FairleadError('RATE_LIMITED', `more than ${MAX_IN_FLIGHT} requests are waiting for an answer`);
      }
      if (!state.connected) throw new FairleadError('UNAVAILABLE', `NATS is away: ${rpc.service} cannot be asked`);
      options.signal?.throwIfAborted();
      inFlight += 1;
      try {
        return decode(rpc, await send(nc, rpc, subjectOf(rpc, tenantId, caller, options), text, options.signal));
      } finally {
        inFlight -= 1;
      }
    },
  };
}

function subjectOf(rpc: Rpc, tenantId: string, caller: Caller, { replica }: CallOptions): string {
  return replica === undefined ? rpcSubject(rpc, tenantId, caller) : replicaSubject(rpc, tenantId, caller, replica);
}

/** The packet that Nest's NATS transport expects. */
function encode(rpc: Rpc, input: unknown): string {
  const text = JSON.stringify({ id: nuid.next(), pattern: rpc.method, data: input });
  if (Buffer.byteLength(text) > MAX_RPC_BYTES) {
    throw new FairleadError('TOO_LARGE', `the ${rpc.method} request is larger than ${MAX_RPC_BYTES} bytes`);
  }
  return text;
}

async function send(nc: NatsConnection, rpc: Rpc, subject: string, text: string, signal?: AbortSignal): Promise<Msg> {
  try {
    return await whileConnected(nc, nc.request(subject, text, { timeout: rpc.timeoutMs }), signal);
  } catch (error) {
    throw translate(rpc, error, signal);
  }
}

function translate(rpc: Rpc, error: unknown, signal?: AbortSignal): unknown {
  if (error instanceof FairleadError || signal?.aborted) return error;
  const cause = error instanceof errors.RequestError && error.cause ? error.cause : error;
  if (error instanceof errors.TimeoutError || cause instanceof errors.TimeoutError) {
    return new FairleadError('DEADLINE_EXCEEDED', `${rpc.service} did not answer in ${rpc.timeoutMs} ms`, { cause });
  }
  if (isNoResponders(error) || isNoResponders(cause)) {
    return new FairleadError('UNAVAILABLE', `no ${rpc.service} service is running`, { cause });
  }
  if (cause instanceof errors.PermissionViolationError) {
    return new FairleadError('FORBIDDEN', `NATS does not let this credential call ${rpc.service} ${rpc.method}`, {
      cause,
    });
  }
  return new FairleadError('DEADLINE_EXCEEDED', `the request to ${rpc.service} broke off`, { cause });
}

function isNoResponders(error: unknown): boolean {
  return error instanceof errors.NoRespondersError || (error instanceof errors.RequestError && error.isNoResponders());
}

function decode<Out extends z.ZodType>(rpc: Rpc<z.ZodType, Out>, message: Msg): z.output<Out> {
  if (message.data.length > MAX_RPC_BYTES) {
    throw new FairleadError('TOO_LARGE', `the answer to ${rpc.method} is larger than ${MAX_RPC_BYTES} bytes`);
  }
  const answer = Answer.safeParse(parseJson(message));
  if (answer.success && answer.data.err !== undefined && answer.data.err !== null) throw fromWire(answer.data.err);
  const output = answer.success ? rpc.output.safeParse(answer.data.response) : null;
  if (output?.success) return output.data;
  throw new FairleadError('INTERNAL', `${rpc.service} answered ${rpc.method} with something unexpected`, {
    cause: output?.error ?? answer.error,
  });
}

function parseJson(message: Msg): unknown {
  try {
    return message.json();
  } catch {
    return undefined;
  }
}
