import { rpcPattern, rpcPublishPermission, rpcSubject, type Caller, type Rpc } from './rpc.js';

/** An RPC that one replica answers, and not whichever is free: its credential stands at the end of the subject. */
export function replicaSubject(rpc: Rpc, tenantId: string, caller: Caller, replica: string): string {
  return `${rpcSubject(rpc, tenantId, caller)}.${replica}`;
}

/** What a replica subscribes to for one method: any tenant, any caller, only itself. */
export function replicaPattern(rpc: Rpc, replica: string): string {
  return `${rpcPattern(rpc)}.${replica}`;
}

/** What a credential may publish to for one method: any tenant, any replica, only itself as the caller. */
export function replicaPublishPermission(rpc: Rpc, caller: Caller): string {
  return `${rpcPublishPermission(rpc, caller)}.*`;
}
