import { accessRpc } from './access.js';
import { gitKeysRpc } from './git-keys.js';
import { gitopsRpc } from './gitops-rpc.js';
import { keysRpc } from './keys.js';
import { registrationRpc } from './registration.js';
import type { Rpc } from './rpc.js';

/** Every RPC of every service: NATS permissions are made of them. */
export const ALL_RPCS: readonly Rpc[] = [accessRpc, registrationRpc, keysRpc, gitKeysRpc, gitopsRpc].flatMap((rpcs) =>
  Object.values<Rpc>(rpcs),
);
