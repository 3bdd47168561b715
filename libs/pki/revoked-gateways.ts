import { FairleadError } from '@fairlead/errors';
import type { PeerCertificate } from './peer-certificate.js';
import { isSpiffeName } from './spiffe-id.js';

/** What a trust bundle says of gateways' certificates that are worth nothing all the same. */
export interface RevokedGateways {
  /** Serial numbers of single ones, also of some that have ended: links outlive the certificate they were opened with. At most 256. Absent: none. */
  readonly revokedGateways?: readonly string[] | undefined;
  /** Gateways as a whole, however many certificates they had; at most 64. Absent: none. */
  readonly fencedGateways?: readonly FencedGateway[] | undefined;
}

/**
 * Every certificate of this gateway that is valid from that second on, or from an earlier one, is worth nothing. `keys` writes both times, and
 * makes what it issues afterwards valid from a later second: nobody's clock is asked, and the gateway's next certificate is good at once.
 */
export interface FencedGateway {
  readonly name: string;
  /** `notBefore`, in seconds since 1970. */
  readonly through: number;
}

/** Of a bundle; its maker leaves out first those that are fenced anyway, then those that end first. */
export const MAX_REVOKED_GATEWAYS = 256;
/** Of a bundle; its maker names those that were revoked last. */
export const MAX_FENCED_GATEWAYS = 64;

const SERIAL = /^([0-9a-f]{2}){1,20}$/;

/** Is this certificate of a gateway, whose chain was verified, revoked by that? */
export function isRevokedGateway(
  { id, serial, notBefore }: PeerCertificate,
  { revokedGateways = [], fencedGateways = [] }: RevokedGateways,
): boolean {
  if (revokedGateways.includes(serial)) return true;
  const isFenced = ({ name, through }: FencedGateway): boolean =>
    id.kind === 'gateway' && id.name === name && secondOf(notBefore) <= through;
  return fencedGateways.some(isFenced);
}

/** As certificates say it. */
export function secondOf(time: Date): number {
  return Math.floor(time.getTime() / 1_000);
}

/** Does `told` say all that is in `revoked`? */
export function tellsAll(told: RevokedGateways, revoked: RevokedGateways): boolean {
  const serials = new Set(told.revokedGateways);
  const fences = new Map(told.fencedGateways?.map(({ name, through }) => [name, through]));
  return (
    (revoked.revokedGateways ?? []).every((serial) => serials.has(serial)) &&
    (revoked.fencedGateways ?? []).every(({ name, through }) => (fences.get(name) ?? -1) >= through)
  );
}

/** Without what names none: such a bundle is as it always was. */
export function writeRevoked({ revokedGateways = [], fencedGateways = [] }: RevokedGateways): RevokedGateways {
  return {
    ...(revokedGateways.length > 0 ? { revokedGateways } : {}),
    ...(fencedGateways.length > 0 ? { fencedGateways } : {}),
  };
}

/** As it was parsed from JSON. CERTIFICATE_REFUSED if it cannot be read. */
export function readRevoked(revoked: {
  readonly revokedGateways?: unknown;
  readonly fencedGateways?: unknown;
}): Required<{ [Key in keyof RevokedGateways]: NonNullable<RevokedGateways[Key]> }> {
  const { revokedGateways = [], fencedGateways = [] } = revoked;
  return {
    revokedGateways: readList(revokedGateways, MAX_REVOKED_GATEWAYS, 'revoked certificates').map(readSerial),
    fencedGateways: readList(fencedGateways, MAX_FENCED_GATEWAYS, 'revoked gateways').map(readFence),
  };
}

function readList(list: unknown, max: number, what: string): unknown[] {
  if (Array.isArray(list) && list.length <= max) return list;
  throw refused(`it does not have 0 to ${max} ${what}`);
}

function readSerial(serial: unknown): string {
  if (typeof serial === 'string' && SERIAL.test(serial)) return serial;
  throw refused('a revoked certificate is no serial number');
}

function readFence(fence: unknown): FencedGateway {
  const { name, through } = (fence ?? {}) as { readonly name?: unknown; readonly through?: unknown };
  if (typeof name === 'string' && isSpiffeName(name) && Number.isSafeInteger(through) && (through as number) >= 0) {
    return { name, through: through as number };
  }
  throw refused('a revoked gateway has no name or time');
}

function refused(why: string): FairleadError {
  return new FairleadError('CERTIFICATE_REFUSED', `the trust bundle is refused: ${why}`);
}
