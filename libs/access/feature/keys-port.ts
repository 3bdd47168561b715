import { keysRpc } from '@fairlead/contracts';
import type { RpcClient } from '@fairlead/messaging';

/** What this service asks of keys, in a tenant's name. */
export interface KeysPort {
  /** JSON of an access statement. `openUntil` may be earlier than what it says. */
  signAccessStatement(
    tenantId: string,
    document: Uint8Array,
  ): Promise<{ readonly envelope: string; readonly openUntil: string }>;
  /** JSON of `StatementRevocations`. The number of the list that is held then, and whether it is this one. */
  putStatementRevocations(
    tenantId: string,
    document: Uint8Array,
  ): Promise<{ readonly number: number; readonly taken: boolean }>;
}

export function keysOver(client: RpcClient): KeysPort {
  return {
    putStatementRevocations: (tenantId, document) =>
      client.call(keysRpc.putStatementRevocations, tenantId, { document: Buffer.from(document).toString('base64') }),
    signAccessStatement: (tenantId, document) =>
      client.call(keysRpc.signAccessStatement, tenantId, { document: Buffer.from(document).toString('base64') }),
  };
}
