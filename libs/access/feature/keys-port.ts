import { keysRpc } from '@fairlead/contracts';
import type { RpcClient } from '@fairlead/messaging';

/** What this service asks of keys, in a tenant's name. */
export interface KeysPort {
  /** JSON of an access statement. `openUntil` may be earlier than what it says. */
  signAccessStatement(
    tenantId: string,
    document: Uint8Array,
  ): Promise<{ readonly envelope: string; readonly openUntil: string }>;
  /** JSON of `AccessRevocations`. The number of the list that is held then. */
  putAccessRevocations(tenantId: string, document: Uint8Array): Promise<number>;
}

export function keysOver(client: RpcClient): KeysPort {
  return {
    putAccessRevocations: async (tenantId, document) => {
      const asked = { document: Buffer.from(document).toString('base64') };
      return (await client.call(keysRpc.putAccessRevocations, tenantId, asked)).number;
    },
    signAccessStatement: (tenantId, document) =>
      client.call(keysRpc.signAccessStatement, tenantId, { document: Buffer.from(document).toString('base64') }),
  };
}
