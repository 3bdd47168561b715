import { X509Certificate } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';

/** How long an agent may have been away and still come back by itself. */
export const RECOVERY_WINDOW_SECONDS = 30 * 86_400;

/**
 * At which time a certificate's chain is to be valid for its renewal: now, or, for one that ended less than the window
 * ago, its end. CERTIFICATE_REFUSED for one that ended earlier, or that cannot be read.
 */
export function renewableAt(
  chain: readonly string[],
  now: Date,
  windowSeconds: number = RECOVERY_WINDOW_SECONDS,
): Date {
  const notAfter = endOf(chain[0] ?? '');
  if (now <= notAfter) return now;
  if (now.getTime() - notAfter.getTime() <= windowSeconds * 1_000) return notAfter;
  throw new FairleadError(
    'CERTIFICATE_REFUSED',
    `the certificate ended on ${notAfter.toISOString()}, too long ago to be renewed; import the cluster again: fairlead cluster import <name>`,
  );
}

function endOf(pem: string): Date {
  try {
    return new Date(new X509Certificate(pem).validTo);
  } catch (cause) {
    throw new FairleadError('CERTIFICATE_REFUSED', 'the current certificate cannot be read', { cause });
  }
}
