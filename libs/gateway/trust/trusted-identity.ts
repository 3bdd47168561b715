import { rootOf, spkiPin, withoutRoot, readPeerCertificate } from '@fairlead/pki';
import type { CertificateSource, TlsIdentity } from '@fairlead/tunnel/gateway';
import type { RenewingCertificate } from '../certificates/renewing-certificate.js';
import type { TrustStore } from './trust-store.js';
import { X509Certificate } from 'node:crypto';
import type { Logger } from '@fairlead/observability';
import type { Revocations } from './revocations.js';

/** Within what time a replica asks for a certificate that fits the roots; should it get another, twice as long each time. */
const RENEW_WITHIN_MS = { first: 5_000, again: 60_000, most: 3_600_000 };

/**
 * The identity of this replica with the roots that count now, which may be newer than those that came with it. New connections
 * take up either as soon as it changes; those that stand are not touched.
 */
export function trustedIdentity(identity: CertificateSource, trust: TrustStore): CertificateSource {
  const current = (): TlsIdentity | null => identity.current && { ...identity.current, rootsPem: trust.rootsPem };
  return {
    get current() {
      return current();
    },
    onChange: (listener) => {
      const tell = (): void => {
        const now = current();
        if (now) listener(now);
      };
      identity.onChange(tell);
      trust.onChange(tell);
    },
  };
}

/**
 * Has the identity renewed soon whenever another root than its own became the active one; and when the root is retired that
 * vouched for it, so that nobody goes on taking this replica for one of that root.
 */
export function followActiveRoot(identity: RenewingCertificate, trust: TrustStore): void {
  let tries = 0;
  const look = (): void => {
    const { current } = identity;
    if (!current || !trust.loaded) return;
    if (fits(current.chainPem, trust.rootsPem)) {
      tries = 0;
      return;
    }
    const { first, again, most } = RENEW_WITHIN_MS;
    identity.renewWithin(tries === 0 ? first : Math.min(again * 2 ** (tries - 1), most));
    tries += 1;
  };
  identity.onChange(look);
  trust.onChange(look);
}

/** Is it of the active root, and does it carry no certificate for that root by one that is not trusted any more? */
function fits(chainPem: readonly string[], rootsPem: readonly string[]): boolean {
  const [active = ''] = rootsPem;
  if (rootOf(chainPem, rootsPem) !== active) return false;
  const crossed = withoutRoot(chainPem).filter((pem) => spkiPin(pem) === spkiPin(active));
  return crossed.every((pem) => rootOf([pem], rootsPem) !== null);
}

const WITHIN_MS = 1_000;

/**
 * Has this replica's own certificate renewed, with a fresh key, when it was revoked: somebody may have had a copy. A replica that should not get
 * another has lost its credential first.
 */
export function replaceRevoked(identity: RenewingCertificate, revocations: Revocations, logger: Logger): void {
  const look = (): void => {
    const [leaf] = identity.current?.chainPem ?? [];
    if (leaf === undefined) return;
    const peer = readPeerCertificate(new X509Certificate(leaf).raw);
    if (!revocations.has(peer)) return;
    logger.warn('certificate.revoked', { serial: peer.serial });
    identity.renewWithin(WITHIN_MS);
  };
  revocations.onChange(look);
  identity.onChange(look);
}
