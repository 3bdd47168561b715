import { FairleadError } from '@fairlead/errors';
import { openTrust, readTrust, type SignedTrust, type TrustedRoots } from '@fairlead/pki';

/** `openTrust` at this moment, for who holds this. CERTIFICATE_REFUSED, also for none at all. */
export async function openSignedTrust(
  signed: SignedTrust | undefined,
  held: { readonly rootsPem: readonly string[]; readonly trustDomain: string; readonly highest?: number },
): Promise<TrustedRoots> {
  if (!signed) throw new FairleadError('CERTIFICATE_REFUSED', 'the gateway sent no trust bundle');
  return openTrust(signed, { ...held, at: new Date() });
}

/** The version that a bundle says it has; nobody's word yet. CERTIFICATE_REFUSED if it cannot be read. */
export function toldVersion({ bundle }: SignedTrust): number {
  return readTrust(bundle).version;
}
