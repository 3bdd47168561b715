import { everyGroup, readAttributes, type AskedIdentity, type RequestAttributes } from '@fairlead/access-rules';
import type { AccessEntry, ClusterEntry } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import {
  asksToImpersonate,
  headerValues,
  readImpersonation,
  type RawHeaders,
  type TunnelIdentity,
} from '@fairlead/kube-http';
import {
  decideRequest,
  isKnownTo,
  lockedDown,
  type AskedOfCluster,
  type Verdict,
} from '../../access/decide-request.js';
import type { Directory } from '../../directory.js';
import type { Grounds } from '../../passage/outcome.js';
import type { ClusterAddress } from './addressed.js';
import { bearerOf } from './bearer.js';

/** What of a replica's memory decides here. */
export type Deciding = Pick<
  Directory,
  'loaded' | 'fresh' | 'principalOf' | 'stillOf' | 'hasEnded' | 'clusterByName' | 'clusterById' | 'grants'
>;

/** Of a user whom somebody asks to act as, who may have made it up. */
const MAX_TOLD_NAME = 256;

/** A request that may go on: where to, as whom, and what to ask there. */
export interface Admission {
  readonly cluster: ClusterEntry;
  readonly principal: AccessEntry;
  /** When they were let in, milliseconds since the epoch. */
  readonly atMs: number;
  readonly identity: TunnelIdentity;
  readonly address: ClusterAddress;
  /** What was decided by grants; undefined for the administrator, who needs none. */
  readonly granted: Granted | undefined;
}

export interface Granted {
  readonly asked: AskedOfCluster;
  /** Of all that is granted to them in the cluster: for a review of what they may, if whoever is beyond the tunnel decides what it speaks of. */
  readonly everyGroup: readonly string[];
}

export interface AskedAtDoor {
  readonly method: string;
  readonly address: ClusterAddress;
  readonly rawHeaders: RawHeaders;
  /** What it asks for there, if it has been read. */
  readonly attributes?: RequestAttributes | undefined;
}

/**
 * Decides from memory whether a request of this principal may go on. Throws NOT_FOUND (the same for an unknown cluster, for another tenant's, and
 * for one in which they have been granted nothing), FORBIDDEN, and INVALID_ARGUMENT for what cannot be read for certain. `onDecided` is told what the
 * decision stands on, also of one that refuses.
 */
export function decideAdmission(
  directory: Deciding,
  principal: AccessEntry,
  asked: AskedAtDoor,
  nowMs: number,
  onDecided: (grounds: Grounds) => void = () => undefined,
): Admission {
  const { address } = asked;
  const cluster = directory.clusterByName(address.cluster);
  if (!cluster || cluster.tenantId !== principal.tenantId) throw notFound(address);
  if (principal.kind === 'administrator') return admitAdministrator(cluster, principal, asked, nowMs);
  const rules = directory.grants.rulesOf(principal, cluster, nowMs);
  if (!isKnownTo(rules)) throw notFound(address);
  const locked = lockedDown(directory.grants, cluster);
  if (locked) throw locked;
  const attributes =
    asked.attributes ?? readAttributes(asked.method, address.target, headerValues(asked.rawHeaders, 'content-type'));
  const ofCluster = { attributes, as: askedIdentity(asked.rawHeaders) };
  const verdict = decideRequest(principal, cluster, rules, ofCluster);
  const { as } = ofCluster;
  onDecided({ grantIds: verdict.grantIds, as: as?.user.slice(0, MAX_TOLD_NAME), asGroups: as?.groups });
  if (verdict.kind === 'refused') throw verdict.failure;
  const granted = { asked: ofCluster, everyGroup: everyGroup(rules) };
  return { cluster, principal, atMs: nowMs, identity: verdict.identity, address, granted };
}

function notFound({ cluster }: ClusterAddress): FairleadError {
  return new FairleadError(
    'NOT_FOUND',
    `there is no cluster "${cluster}" that you may use; list yours with: fairlead cluster list`,
  );
}

function admitAdministrator(
  cluster: ClusterEntry,
  principal: AccessEntry,
  asked: AskedAtDoor,
  atMs: number,
): Admission {
  if (asksToImpersonate(asked.rawHeaders)) {
    throw new FairleadError('FORBIDDEN', 'acting as somebody else (kubectl --as) needs a grant that allows it');
  }
  const { user, groups } = principal;
  const identity = { user, groups, extra: [] };
  return { cluster, principal, atMs, identity, address: asked.address, granted: undefined };
}

function askedIdentity(rawHeaders: RawHeaders): AskedIdentity | undefined {
  const asked = readImpersonation(rawHeaders);
  if (asked.kind === 'unclear') {
    throw new FairleadError('FORBIDDEN', `the request may not act as somebody else (kubectl --as): ${asked.why}`);
  }
  return asked.kind === 'asked' ? { user: asked.user, groups: asked.groups } : undefined;
}

/** Why a request that was let in may not go on now: its token and the session of that, its grant or its cluster has gone, or all is locked down; null if it may. */
export function whyShutOut(directory: Deciding, admission: Admission, nowMs: number): FairleadError | null {
  const { cluster: before, granted } = admission;
  const principal = directory.stillOf(admission, nowMs);
  if (!principal)
    return new FairleadError('UNAUTHENTICATED', 'the token or login of this request is not valid any more');
  const cluster = directory.clusterById(before.clusterId);
  if (!cluster) return new FairleadError('NOT_FOUND', 'the cluster was deleted');
  if (!granted) return null;
  const locked = lockedDown(directory.grants, cluster);
  if (locked) return locked;
  const rules = directory.grants.rulesOf(principal, cluster, nowMs);
  const verdict = decideRequest(principal, cluster, rules, granted.asked);
  return stands(verdict, admission) ? null : ended(verdict);
}

/** Has time alone shut a request out? It would still go on at the time when it was let in, by what is known now. */
export function hasLapsed(directory: Deciding, admission: Admission, nowMs: number): boolean {
  const { granted, atMs } = admission;
  if (directory.hasEnded(admission, nowMs)) return true;
  const cluster = directory.clusterById(admission.cluster.clusterId);
  const now = directory.stillOf(admission, nowMs);
  if (!granted || !cluster || !now || lockedDown(directory.grants, cluster)) return false;
  const verdictAt = (rules: ReturnType<typeof directory.grants.rulesAt>): Verdict =>
    decideRequest(now, cluster, rules, granted.asked);
  if (stands(verdictAt(directory.grants.rulesOf(now, cluster, nowMs)), admission)) return false;
  return stands(verdictAt(directory.grants.rulesAt(now, cluster, atMs)), admission);
}

/** What was sent for somebody has to be theirs still: a tunnel has its groups for life. */
function stands(verdict: Verdict, { identity }: Admission): boolean {
  if (verdict.kind === 'refused') return false;
  return identity.groups.every((group) => verdict.identity.groups.includes(group));
}

function ended(verdict: Verdict): FairleadError {
  if (verdict.kind === 'refused') return verdict.failure;
  return new FairleadError('FORBIDDEN', 'a grant that this request stands on has ended');
}

/**
 * Whose request this is at the Kubernetes API door. UNAUTHENTICATED; UNAVAILABLE while this replica knows nobody, and, for all but the administrator,
 * once what it knows is an hour old: it could not have heard that somebody was shut out. STATEMENT_REFUSED for a statement that cannot be read.
 */
export function authenticate(directory: Deciding, rawHeaders: RawHeaders, nowMs: number): AccessEntry {
  if (!directory.loaded) throw new FairleadError('UNAVAILABLE', 'this replica has not loaded its snapshot yet');
  const secret = bearerOf(rawHeaders)?.secret;
  const principal = secret === undefined ? undefined : directory.principalOf(secret, nowMs);
  if (!principal) {
    throw new FairleadError('UNAUTHENTICATED', 'no valid Fairlead token was sent; log in with: fairlead login');
  }
  if (principal.kind === 'administrator' || directory.fresh) return principal;
  throw new FairleadError(
    'UNAVAILABLE',
    'this replica has heard of no change for an hour, and lets in nobody but the administrator until NATS is back',
  );
}
