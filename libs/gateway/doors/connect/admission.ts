import type { TLSSocket } from 'node:tls';
import type { ClientEntry, ClusterEntry } from '@fairlead/contracts';
import { FairleadError, messageOf } from '@fairlead/errors';
import { isOutOfDate, readPeerCertificate, type PeerCertificate } from '@fairlead/pki';
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

/**
 * Which cluster a client means: the first label of the SNI name if it is a cluster it may reach, else the user name of
 * Proxy-Authorization, else the only one it may reach. FORBIDDEN (the same for an unknown cluster), INVALID_ARGUMENT for
 * a header that cannot be read, UNAUTHENTICATED when it must choose. FORBIDDEN while the cluster is locked down. UNAVAILABLE once what this replica knows is an hour
 * old: it could not have heard that the client was shut out.
 */
export function chooseCluster(
  directory: Directory,
  client: ClientEntry,
  serverName: string | undefined,
  authorization: string | undefined,
): ClusterEntry {
  if (!directory.fresh) {
    const what = 'this replica has heard of no change for an hour, and opens nothing until NATS is back';
    throw new FairleadError('UNAVAILABLE', what);
  }
  const cluster = meantCluster(directory, client, serverName, authorization);
  const locked = lockedDown(directory.grants, cluster);
  if (locked) throw locked;
  return cluster;
}

function meantCluster(
  directory: Directory,
  client: ClientEntry,
  serverName: string | undefined,
  authorization: string | undefined,
): ClusterEntry {
  const bySni = serverName ? reachable(directory, client, serverName.toLowerCase().split('.')[0] ?? '') : undefined;
  if (bySni) return bySni;
  if (authorization !== undefined) {
    const name = userNameOf(authorization);
    const cluster = reachable(directory, client, name);
    if (cluster) return cluster;
    throw new FairleadError('FORBIDDEN', `there is no cluster ${JSON.stringify(name)} that this client may reach`);
  }
  const [only, another] = directory.clustersOf(client);
  if (only && !another) return only;
  if (only) {
    throw new FairleadError(
      'UNAUTHENTICATED',
      'this client may reach several clusters: name one as the proxy user name, or as the first label of the server name',
    );
  }
  throw new FairleadError('FORBIDDEN', 'this client may reach no cluster');
}

/**
 * Why a client that was let in would not be now: its certificate was revoked, it was deleted, or may not reach that cluster
 * any more, or all is locked down there; null if it would.
 */
export function whyShutOut(
  directory: Directory,
  { client: { clientId }, certificate }: IdentifiedClient,
  clusterId: string,
): FairleadError | null {
  if (directory.revocations.has(certificate)) return revoked();
  const client = directory.clientById(clientId);
  if (!client) return new FairleadError('CERTIFICATE_REFUSED', 'this client was deleted');
  const cluster = directory.clusterById(clusterId);
  if (cluster && isReachable(client, cluster)) return lockedDown(directory.grants, cluster);
  return new FairleadError('FORBIDDEN', 'this client may not reach the cluster any more');
}

function reachable(directory: Directory, client: ClientEntry, name: string): ClusterEntry | undefined {
  const cluster = directory.clusterByName(name);
  return cluster && isReachable(client, cluster) ? cluster : undefined;
}

function isReachable({ tenantId, clusterIds }: ClientEntry, cluster: ClusterEntry): boolean {
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
