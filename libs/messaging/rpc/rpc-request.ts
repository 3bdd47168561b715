import { parseRpcSubject, type Caller, type Rpc } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { Msg } from '@nats-io/transport-node';
import { z } from 'zod';
import { inboxPrefix } from '../connection/inbox.js';
import { MAX_RPC_BYTES } from './rpc-client.js';

/** What a handler gets: tenant and caller come from the subject, which NATS permissions make unforgeable. */
export interface RpcRequest<R extends Rpc> {
  readonly tenantId: string;
  readonly caller: Caller;
  readonly input: z.output<R['input']>;
}

/** A request before its input was checked. */
export interface ReceivedRequest {
  readonly id: string;
  readonly tenantId: string;
  readonly caller: Caller;
  readonly input: unknown;
}

const Packet = z.object({ id: z.string().max(64), data: z.unknown().optional() });

/**
 * Reads a request. Throws FORBIDDEN unless the reply goes to the caller's own inbox: otherwise a caller could have the
 * answer, or a message that JetStream delivers for it, arrive as a request of somebody else. INVALID_ARGUMENT, TOO_LARGE.
 */
export function readRequest(message: Msg): ReceivedRequest {
  const parsed = parseRpcSubject(message.subject);
  if (!parsed)
    throw new FairleadError('INVALID_ARGUMENT', 'not a subject of ours', { details: { subject: message.subject } });
  if (!message.reply?.startsWith(`${inboxPrefix(parsed.caller)}.`)) {
    throw new FairleadError('FORBIDDEN', 'the reply subject is not the inbox of the caller');
  }
  if (message.data.length > MAX_RPC_BYTES) {
    throw new FairleadError('TOO_LARGE', `the request is larger than ${MAX_RPC_BYTES} bytes`);
  }
  const { id, data } = readPacket(message);
  return { ...parsed, id, input: data };
}

/** Checks the caller's role and the input. Throws FORBIDDEN or INVALID_ARGUMENT with the paths, never the values. */
export function checkRequest<R extends Rpc>(rpc: R, request: ReceivedRequest): RpcRequest<R> {
  const { tenantId, caller } = request;
  if (!rpc.callers.includes(caller.role)) {
    throw new FairleadError('FORBIDDEN', `${caller.role} may not call ${rpc.service} ${rpc.method}`);
  }
  const input = rpc.input.safeParse(request.input);
  if (input.success) return { tenantId, caller, input: input.data as z.output<R['input']> };
  const problems = input.error.issues.map((issue) => `${issue.path.join('.') || 'input'}: ${issue.message}`);
  throw new FairleadError('INVALID_ARGUMENT', problems.join('; '));
}

function readPacket(message: Msg): z.output<typeof Packet> {
  let packet: unknown;
  try {
    packet = message.json();
  } catch {
    throw new FairleadError('INVALID_ARGUMENT', 'the request is not JSON');
  }
  const parsed = Packet.safeParse(packet);
  if (!parsed.success) throw new FairleadError('INVALID_ARGUMENT', 'the request is not a packet with id and data');
  return parsed.data;
}
