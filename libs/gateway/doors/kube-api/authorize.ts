import type { ClusterEntry } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { asksToImpersonate, headerValues, type RawHeaders, type TunnelIdentity } from '@fairlead/kube-http';
import type { Directory, Principal } from '../../directory.js';
import type { ClusterAddress } from './addressed.js';

/** A request that may go on: where to, as whom, and what to ask there. */
export interface Admission {
  readonly cluster: ClusterEntry;
  readonly principal: Principal;
  readonly identity: TunnelIdentity;
  readonly address: ClusterAddress;
}

/**
 * Decides from memory whether a request of this principal may go on. Throws NOT_FOUND (the same for an unknown cluster and for somebody
 * else's), FORBIDDEN for `kubectl --as`.
 */
export function admit(
  directory: Directory,
  principal: Principal,
  address: ClusterAddress,
  rawHeaders: RawHeaders,
): Admission {
  const cluster = directory.clusterByName(address.cluster);
  if (!cluster || cluster.tenantId !== principal.tenantId) {
    throw new FairleadError(
      'NOT_FOUND',
      `there is no cluster "${address.cluster}" that you may use; list yours with: fairlead cluster list`,
    );
  }
  if (asksToImpersonate(rawHeaders)) {
    throw new FairleadError('FORBIDDEN', 'acting as somebody else (kubectl --as) needs a grant that allows it');
  }
  return {
    cluster,
    principal,
    identity: { user: principal.user, groups: principal.groups, extra: [] },
    address,
  };
}

/** Why a request that was let in would not be now: its token or its cluster has gone; null if it would. */
export function whyShutOut(directory: Directory, { principal, cluster }: Admission): FairleadError | null {
  if (!directory.isStill(principal, Date.now())) {
    return new FairleadError('UNAUTHENTICATED', 'the token of this request is not valid any more');
  }
  if (directory.clusterById(cluster.clusterId)) return null;
  return new FairleadError('NOT_FOUND', 'the cluster was deleted');
}

/** Whose request this is at the Kubernetes API door. UNAUTHENTICATED; UNAVAILABLE while this replica knows nobody. */
export function authenticate(directory: Directory, rawHeaders: RawHeaders, nowMs: number): Principal {
  if (!directory.loaded) throw new FairleadError('UNAVAILABLE', 'this replica has not loaded its snapshot yet');
  const [value = '', another] = headerValues(rawHeaders, 'authorization');
  const token = another === undefined ? /^Bearer ([\x21-\x7e]{1,512})$/i.exec(value)?.[1] : undefined;
  const principal = token === undefined ? undefined : directory.principalOf(token, nowMs);
  if (principal) return principal;
  throw new FairleadError('UNAUTHENTICATED', 'no valid Fairlead token was sent; log in with: fairlead login');
}
