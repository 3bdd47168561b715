import { FairleadError } from '@fairlead/errors';
import { signStatement, type TrustSigner } from '@fairlead/pki';
import { AccessStatement, MAX_STATEMENT_BYTES, lifeOf } from './access-statement.js';
import { packEnvelope } from './envelope.js';

/** What else a key of the CA may ever sign does not begin so. */
export const CONTEXT = 'fairlead access statement v1';
/** The signer's name below `service/`. */
export const SIGNER = 'access-statements';

/** The envelope, signed by a key whose certificate says `service/access-statements`. Throws INVALID_ARGUMENT for one that nobody would take. */
export async function signAccessStatement(statement: AccessStatement, signer: TrustSigner): Promise<Uint8Array> {
  const parsed = AccessStatement.safeParse(statement);
  if (!parsed.success) {
    throw new FairleadError('INVALID_ARGUMENT', 'this is no access statement', { cause: parsed.error });
  }
  lifeOf(parsed.data);
  const document = new Uint8Array(Buffer.from(JSON.stringify(parsed.data)));
  if (document.length > MAX_STATEMENT_BYTES) {
    throw new FairleadError('INVALID_ARGUMENT', `the access statement is larger than ${MAX_STATEMENT_BYTES} bytes`);
  }
  return packEnvelope(await signStatement(CONTEXT, document, signer));
}
