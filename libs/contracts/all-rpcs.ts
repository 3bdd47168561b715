import { accessRpc } from './access.js';
import { auditLogRpc } from './audit-log.js';
import { auditRpc } from './audit-rpc.js';
import { gitKeysRpc } from './git-keys.js';
import { gatewayRpc } from './open-passages.js';
import { gitopsRpc } from './gitops-rpc.js';
import { keysRpc } from './keys.js';
import { registrationRpc } from './registration.js';
import type { Rpc } from './rpc.js';
import { subscriberRpc } from './subscribers.js';
import { webhookKeysRpc } from './webhook-keys.js';
import { webhookRpc } from './webhooks.js';

/** Every RPC of every service: NATS permissions are made of them. */
export const ALL_RPCS: readonly Rpc[] = [
  accessRpc,
  auditLogRpc,
  auditRpc,
  subscriberRpc,
  webhookRpc,
  registrationRpc,
  keysRpc,
  gitKeysRpc,
  webhookKeysRpc,
  gitopsRpc,
].flatMap((rpcs) => Object.values<Rpc>(rpcs));

/** Every RPC that each replica of the gateways answers for itself. */
export const REPLICA_RPCS: readonly Rpc[] = Object.values<Rpc>(gatewayRpc);
