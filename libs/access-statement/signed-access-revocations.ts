import { openStatement, signStatement, type StatementTrust, type TrustSigner } from '@fairlead/pki';
import { readAccessRevocations, type AccessRevocations } from './access-revocations.js';
import { packEnvelope, unpackEnvelope } from './envelope.js';
import { SIGNER } from './signed-access-statement.js';

const CONTEXT = 'fairlead access revocations v1';

/** The envelope, signed by a key whose certificate says `service/access-statements`, in a context of its own: it is no statement, and no statement is a list. */
export async function signAccessRevocations(document: Uint8Array, signer: TrustSigner): Promise<Uint8Array> {
  return packEnvelope(await signStatement(CONTEXT, document, signer));
}

/** Throws STATEMENT_REFUSED for bytes that cannot be read, CERTIFICATE_REFUSED unless `keys` signed it, INVALID_ARGUMENT for what is no list. */
export async function openAccessRevocations(envelope: Uint8Array, trust: StatementTrust): Promise<AccessRevocations> {
  const signed = unpackEnvelope(envelope);
  await openStatement(CONTEXT, signed, trust, SIGNER);
  return readAccessRevocations(signed.document);
}
