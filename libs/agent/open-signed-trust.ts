import { FairleadError } from '@fairlead/errors';
import { openTrust, type SignedTrust, type TrustedRoots } from '@fairlead/pki';

/** `openTrust` at this moment. CERTIFICATE_REFUSED, also for none at all. */
export async function openSignedTrust(
  signed: SignedTrust | undefined,
  {
    rootsPem,
    trustDomain,
    trustVersion = 0,
  }: { readonly rootsPem: readonly string[]; readonly trustDomain: string; readonly trustVersion?: number },
): Promise<TrustedRoots> {
  if (!signed) throw new FairleadError('CERTIFICATE_REFUSED', 'the gateway sent no trust bundle');
  return openTrust(signed, { rootsPem, trustDomain, at: new Date(), version: trustVersion });
}
