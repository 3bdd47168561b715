import { createHash } from 'node:crypto';
import { CLUSTER_SERVICE } from '@fairlead/contracts';
import type { CatalogSource, DesiredState } from '@fairlead/desired-state';
import { FairleadError } from '@fairlead/errors';

/** How far a revision may be above the last one: whoever asks cannot use the numbers up, and a database that was lost is caught up with. */
export const MAX_REVISION_STEP = 1_000_000;

/** Under which name and port clusters dial a Git host, and the keys (`TYPE BASE64`) that an administrator approved for it there. */
export interface ApprovedAddress {
  readonly host: string;
  readonly port: number;
  readonly approvedKeys: readonly string[];
}

/** What was signed last for the cluster. */
export interface LastSigned {
  readonly revision: number;
  /** `digestOf` the whole document. */
  readonly document: string;
  /** `sourceDigest` of it. */
  readonly source: string | null;
}

/**
 * May `keys` sign this, of a cluster that is the tenant's? Not less than the highest revision it signed for it (CONFLICT), and no source
 * but on a Git host of the tenant, with host keys that are approved for it under the name that is dialled (FORBIDDEN). What was signed
 * before may be signed again as it is; and the source of before may be kept while it is suspended, also when its host keys were withdrawn:
 * a source that vanished would take what it deployed with it.
 */
export function vouchFor(
  state: DesiredState,
  last: LastSigned | undefined,
  addresses: readonly ApprovedAddress[],
): void {
  const highest = last?.revision ?? 0;
  if (state.revision < highest) {
    throw new FairleadError('CONFLICT', `revision ${highest} was signed for this cluster; ${state.revision} is older`);
  }
  if (state.revision > highest + MAX_REVISION_STEP) {
    const message = `the revision is more than ${MAX_REVISION_STEP} above ${highest}, the last that was signed for this cluster`;
    throw new FairleadError('CONFLICT', message);
  }
  if (state.revision === highest && last?.document === digestOf(state)) return;
  const source = state.gitops?.source;
  if (!source) return;
  if (state.gitops?.suspend === true && last?.source === sourceDigest(state)) return;
  assertApproved(source, addresses);
}

/** SHA-256, hex. The same for what the schema makes the same of. */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

/** Of where it is fetched and whose keys are believed there; null: it has no source. */
export function sourceDigest({ gitops }: DesiredState): string | null {
  return gitops?.source ? digestOf([gitops.source.url, gitops.source.knownHosts]) : null;
}

function assertApproved({ url, knownHosts }: CatalogSource, addresses: readonly ApprovedAddress[]): void {
  const at = dialledIn(url);
  const dialled = knownAs(at.host, at.port);
  // A Service in the cluster, or another port of a host, leads to one of the hosts (`gitThrough` of an assignment): which one, the keys say.
  const exactly = addresses.filter(({ host, port }) => knownAs(host, port) === dialled);
  const led = addresses.filter(({ host }) => CLUSTER_SERVICE.test(at.host) || at.host === host);
  const there = exactly.length > 0 ? exactly : led;
  if (there.length === 0) {
    throw new FairleadError('FORBIDDEN', `the source is at ${dialled}, which is no Git host of this tenant`);
  }
  const approved = new Set(there.flatMap(({ approvedKeys }) => approvedKeys));
  if (knownHosts.every(({ host, type, key }) => host === dialled && approved.has(`${type} ${key}`))) return;
  throw new FairleadError('FORBIDDEN', `the source has host keys that nobody approved for ${dialled}`);
}

function dialledIn(url: string): { host: string; port: number } {
  const [, host, port] = /^ssh:\/\/[^@/]+@([^@/:]+)(?::([1-9]\d{0,4}))?\//.exec(url) ?? [];
  if (host === undefined) throw new FairleadError('FORBIDDEN', 'the source names no host with a name and a port');
  return { host, port: Number(port ?? 22) };
}

/** As `known_hosts` names it. */
function knownAs(host: string, port: number): string {
  return port === 22 ? host : `[${host}]:${port}`;
}
