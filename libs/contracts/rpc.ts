import type { z } from 'zod';
import { ROLES, type Role, type Service } from './services.js';

/** Who answers: a service, of which any instance will do, or one replica of the gateways (see `replicaSubject`). */
export type Answering = Service | 'gateway';

/** One request/reply method: both ends share this value, so they cannot disagree. */
export interface Rpc<In extends z.ZodType = z.ZodType, Out extends z.ZodType = z.ZodType> {
  readonly service: Answering;
  readonly method: string;
  /** Roles whose NATS permissions let them send it; the receiver checks once more. */
  readonly callers: readonly Role[];
  readonly input: In;
  readonly output: Out;
  /** The caller gives up after this; a receiver need not finish later. */
  readonly timeoutMs: number;
}

/** Makes the methods of one service; a caller gives up after 5 s, unless one needs longer. */
export function rpcOf(service: Answering) {
  return <In extends z.ZodType, Out extends z.ZodType>(
    method: string,
    callers: Rpc['callers'],
    input: In,
    output: Out,
    timeoutMs = 5_000,
  ): Rpc<In, Out> => ({ service, method, callers, input, output, timeoutMs });
}

/** Who called, taken from the subject: NATS permissions make it unforgeable. */
export interface Caller {
  readonly role: Role;
  readonly credential: string;
  /** A person for whom it asks, as it says: for events, and no right comes of it. */
  readonly user?: string;
}

/**
 * How subjects of events name who tells them: its role, and of a replica its name too, `gateway:gateway-a`, so that NATS lets none tell anything in the name of another. Neither has a dot.
 */
export function tellerOf({ role, credential }: Caller): string {
  return role === 'gateway' ? `${role}:${credential}` : role;
}

const PREFIX = 'fairlead.rpc';

/** `fairlead.rpc.<tenant>.<service>.<method>.<role>.<credential>`: what a caller publishes to. */
export function rpcSubject(rpc: Rpc, tenantId: string, caller: Caller): string {
  return `${PREFIX}.${tenantId}.${rpc.service}.${rpc.method}.${caller.role}.${caller.credential}`;
}

/** What the service subscribes to for one method: any tenant, any caller. */
export function rpcPattern(rpc: Rpc): string {
  return `${PREFIX}.*.${rpc.service}.${rpc.method}.*.*`;
}

/** What a credential may publish to for one method: any tenant, only itself as the caller. */
export function rpcPublishPermission(rpc: Rpc, caller: Caller): string {
  return `${PREFIX}.*.${rpc.service}.${rpc.method}.${caller.role}.${caller.credential}`;
}

/** Tenant and caller of a received subject, which may name the replica that is asked; null if it is not one of ours. */
export function parseRpcSubject(subject: string): { tenantId: string; caller: Caller } | null {
  const [a, b, tenantId, , , role, credential, _replica, ...rest] = subject.split('.');
  if (`${a}.${b}` !== PREFIX || rest.length > 0 || !tenantId || !credential) return null;
  const known = ROLES.find((candidate) => candidate === role);
  return known ? { tenantId, caller: { role: known, credential } } : null;
}
