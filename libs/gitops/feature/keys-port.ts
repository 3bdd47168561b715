import { gitKeysRpc, type DeployKey } from '@fairlead/contracts';
import type { RpcClient } from '@fairlead/messaging';
import type { z } from 'zod';

type Rpcs = typeof gitKeysRpc;
type In<K extends keyof Rpcs> = z.input<Rpcs[K]['input']>;
type Out<K extends keyof Rpcs> = z.output<Rpcs[K]['output']>;

/** What this service asks of keys, in a tenant's name. */
export interface KeysPort {
  openRepository(tenantId: string, request: In<'openRepository'>): Promise<Out<'openRepository'>>;
  wantDeployKey(tenantId: string, request: In<'wantDeployKey'>): Promise<DeployKey>;
  dropDeployKey(tenantId: string, request: In<'dropDeployKey'>): Promise<DeployKey>;
  signDesiredState(tenantId: string, document: Uint8Array): Promise<Out<'signDesiredState'>>;
}

export function keysOver(client: RpcClient): KeysPort {
  return {
    openRepository: (tenantId, request) => client.call(gitKeysRpc.openRepository, tenantId, request),
    wantDeployKey: (tenantId, request) => client.call(gitKeysRpc.wantDeployKey, tenantId, request),
    dropDeployKey: (tenantId, request) => client.call(gitKeysRpc.dropDeployKey, tenantId, request),
    signDesiredState: (tenantId, document) =>
      client.call(gitKeysRpc.signDesiredState, tenantId, { document: Buffer.from(document).toString('base64') }),
  };
}
