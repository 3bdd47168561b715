import { openStatement, signStatement, type StatementTrust, type TrustSigner } from '@fairlead/pki';
import { readStatementRevocations, type StatementRevocations } from './statement-revocations.js';
import { packEnvelope, unpackEnvelope } from './envelope.js';
import { SIGNER } from './signed-access-statement.js';

const CONTEXT = 'fairlead access revocations v1';

/** The envelope, signed as statements are, in a context of its own: it is no statement, and no statement is a list. */
export async function signStatementRevocations(document: Uint8Array, signer: TrustSigner): Promise<Uint8Array> {
  return packEnvelope(await signStatement(CONTEXT, document, signer));
}

/** Throws STATEMENT_REFUSED for bytes that cannot be read, CERTIFICATE_REFUSED unless `keys` signed it, INVALID_ARGUMENT for what is no list. */
export async function openStatementRevocations(
  envelope: Uint8Array,
  trust: StatementTrust,
): Promise<StatementRevocations> {
  const signed = unpackEnvelope(envelope);
  await openStatement(CONTEXT, signed, trust, SIGNER);
  return readStatementRevocations(signed.document);
}
