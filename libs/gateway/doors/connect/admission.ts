import type { TLSSocket } from 'node:tls';
import type { ClientEntry, ClusterEntry } from '@fairlead/contracts';
import { FairleadError, messageOf } from '@fairlead/errors';
import { isOutOfDate, readPeerCertificate, type PeerCertificate } from '@fairlead/pki';
import { decideTarget } from '@fairlead/targets';
import { lockedDown } from '../../access/decide-request.js';
import type { Directory } from '../../directory.js';
import { revoked } from '../../trust/revocations.js';

export interface IdentifiedClient {
  readonly client: ClientEntry;
  readonly certificate: PeerCertificate;
}

/**
 * Who is at the other end of a verified TLS connection. CERTIFICATE_REFUSED for a certificate that is not a client's,
 * is out of date (a resumed session is not verified again), or belongs to a client that was deleted; CERTIFICATE_REVOKED.
 */
export function identifyClient(directory: Directory, trustDomain: string, socket: TLSSocket): IdentifiedClient {
  if (!directory.loaded) throw new FairleadError('UNAVAILABLE', 'this replica has not loaded its snapshot yet');
  // It was verified before anybody hears of the connection. If ever it were not, nobody is to be believed here.
  if (!socket.authorized) throw new FairleadError('CERTIFICATE_REFUSED', 'the certificate was not verified');
  const peer = readCertificate(socket);
  if (isOutOfDate(peer)) throw new FairleadError('CERTIFICATE_REFUSED', 'the client certificate is out of date');
  if (peer.id.kind !== 'client' || peer.id.trustDomain !== trustDomain) {
    throw new FairleadError('CERTIFICATE_REFUSED', 'the certificate is not one of a client of this door');
  }
  directory.revocations.assertNone(peer);
  const client = directory.clientById(peer.id.name);
  if (client) return { client, certificate: peer };
  throw new FairleadError(
    'CERTIFICATE_REFUSED',
    'this client is not known any more; make one with: fairlead client create',
  );
}

function readCertificate(socket: TLSSocket): ReturnType<typeof readPeerCertificate> {
  try {
    return readPeerCertificate(socket.getPeerX509Certificate()?.raw ?? new Uint8Array());
  } catch (error) {
    throw new FairleadError('CERTIFICATE_REFUSED', messageOf(error), { cause: error });
  }
}

/** What a client asks for, and how it says in which cluster. */
export interface AskedOfDoor {
  readonly serverName: string | undefined;
  readonly authorization: string | undefined;
  readonly target: Target;
}

export interface Target {
  readonly host: string;
  readonly port: number;
}

export interface AdmittedTarget {
  readonly cluster: ClusterEntry;
  /** That it stands on; none: the client was registered with the cluster. */
  readonly grantIds: readonly string[];
}

/**
 * Lets a client reach a target in the cluster that it means: the first label of the SNI name if it is a cluster it knows of, else the user name of
 * Proxy-Authorization, else the only one. It knows of those that it was registered with, where it may reach all, and of those in which it has been
 * granted anything. FORBIDDEN (the same for an unknown cluster), INVALID_ARGUMENT for a header that cannot be read, UNAUTHENTICATED when it must choose.
 * FORBIDDEN while the cluster is locked down. UNAVAILABLE once what this replica knows is an hour old: it could not have heard that the client was shut out.
 */
export function admitTarget(
  directory: Directory,
  client: ClientEntry,
  asked: AskedOfDoor,
  nowMs: number,
): AdmittedTarget {
  if (!directory.fresh) {
    const what = 'this replica has heard of no change for an hour, and opens nothing until NATS is back';
    throw new FairleadError('UNAVAILABLE', what);
  }
  const cluster = meantCluster(directory, client, asked, nowMs);
  const locked = lockedDown(directory.grants, cluster);
  if (locked) throw locked;
  const { failure, grantIds } = decide(directory, client, cluster, asked.target, nowMs);
  if (failure) throw failure;
  return { cluster, grantIds };
}

function meantCluster(
  directory: Directory,
  client: ClientEntry,
  { serverName, authorization }: AskedOfDoor,
  nowMs: number,
): ClusterEntry {
  const known = (name: string): ClusterEntry | undefined => {
    const cluster = directory.clusterByName(name);
    return cluster && isKnownTo(directory, client, cluster, nowMs) ? cluster : undefined;
  };
  const bySni = serverName ? known(serverName.toLowerCase().split('.')[0] ?? '') : undefined;
  if (bySni) return bySni;
  if (authorization !== undefined) {
    const name = userNameOf(authorization);
    const cluster = known(name);
    if (cluster) return cluster;
    throw new FairleadError('FORBIDDEN', `there is no cluster ${JSON.stringify(name)} that this client may reach`);
  }
  const [only, another] = clustersKnownTo(directory, client, nowMs);
  if (only && !another) return only;
  if (only) {
    throw new FairleadError(
      'UNAUTHENTICATED',
      'this client may reach several clusters: name one as the proxy user name, or as the first label of the server name',
    );
  }
  throw new FairleadError('FORBIDDEN', 'this client may reach no cluster');
}

/** No more of them than tell whether there are several. */
function clustersKnownTo(directory: Directory, client: ClientEntry, nowMs: number): ClusterEntry[] {
  const found: ClusterEntry[] = [];
  const all = directory.grants.hasClient(client) ? directory.clusters() : directory.clustersOf(client);
  for (const cluster of all) {
    if (isKnownTo(directory, client, cluster, nowMs)) found.push(cluster);
    if (found.length > 1) break;
  }
  return found;
}

/**
 * Why a client that was let in would not be now: its certificate was revoked, it was deleted, or may not reach the target in that cluster
 * any more, or all is locked down there; null if it would.
 */
export function whyShutOut(
  directory: Directory,
  { client: { clientId }, certificate }: IdentifiedClient,
  { clusterId, target }: { readonly clusterId: string; readonly target: Target },
  nowMs: number,
): FairleadError | null {
  if (directory.revocations.has(certificate)) return revoked();
  const client = directory.clientById(clientId);
  if (!client) return new FairleadError('CERTIFICATE_REFUSED', 'this client was deleted');
  const cluster = directory.clusterById(clusterId);
  if (!cluster || !isKnownTo(directory, client, cluster, nowMs)) {
    return new FairleadError('FORBIDDEN', 'this client may not reach the cluster any more');
  }
  return lockedDown(directory.grants, cluster) ?? decide(directory, client, cluster, target, nowMs).failure;
}

/** A denial wins; else the client's own list of clusters is as good as a grant of all targets. */
function decide(
  directory: Directory,
  client: ClientEntry,
  cluster: ClusterEntry,
  { host, port }: Target,
  nowMs: number,
): { readonly failure: FairleadError | null; readonly grantIds: readonly string[] } {
  const grants = directory.grants.ofClient(client, cluster, nowMs);
  const { allowed, grantIds, because } = grants
    ? decideTarget(grants, host, port)
    : { allowed: false, grantIds: [], because: 'what is granted to it cannot be read by this version' };
  const isDenied = !grants || (!allowed && grantIds.length > 0);
  if (allowed || (!isDenied && isRegistered(client, cluster))) return { failure: null, grantIds };
  const message = `this client may not reach ${host}:${port} in the cluster "${cluster.name}": ${because}`;
  return { failure: FairleadError.withoutStack('FORBIDDEN', message), grantIds };
}

function isKnownTo(directory: Directory, client: ClientEntry, cluster: ClusterEntry, nowMs: number): boolean {
  if (cluster.tenantId !== client.tenantId) return false;
  if (isRegistered(client, cluster)) return true;
  const grants = directory.grants.ofClient(client, cluster, nowMs) ?? [];
  return grants.some(({ effect }) => effect === 'allow');
}

function isRegistered({ tenantId, clusterIds }: ClientEntry, cluster: ClusterEntry): boolean {
  return cluster.tenantId === tenantId && (clusterIds === null || clusterIds.includes(cluster.clusterId));
}

/** RFC 7617. The password is not looked at, because the certificate has said who it is. */
function userNameOf(authorization: string): string {
  const encoded = /^Basic +([A-Za-z0-9+/]{1,512}={0,2})$/i.exec(authorization)?.[1];
  const name = encoded === undefined ? undefined : /^([^:]{1,63})(?::|$)/s.exec(decode(encoded))?.[1];
  if (name !== undefined) return name;
  throw new FairleadError('INVALID_ARGUMENT', 'Proxy-Authorization must be Basic, with a cluster as the user name');
}

const decode = (base64: string): string => Buffer.from(base64, 'base64').toString('latin1');
