import { createHash, randomUUID } from 'node:crypto';
import type { AccessRule } from '@fairlead/access-rules';
import {
  BUCKETS,
  grantsKeys,
  revocationKeys,
  type AccessEntry,
  type ClientEntry,
  type ClusterEntry,
  type GrantEntry,
  type GrantsEntry,
  type LoginSessionEntry,
  type RevocationEntry,
  type Subject,
} from '@fairlead/contracts';
import { sha256Hex } from '@fairlead/pki';
import type { NatsConnection } from '@nats-io/transport-node';
import { deleteKv, putKv } from '@fairlead/messaging';
import { eventually } from '@fairlead/testing';

/** A grant as tests give it: to view all of every cluster, for ever, unless told otherwise. */
export type GivenGrant = Partial<Omit<AccessRule, 'grantId'>> & Partial<Omit<GrantEntry, 'rule'>>;

export interface GivenLogin {
  readonly groups?: string[];
  readonly expiresAt?: Date;
  readonly sessionEndsAt?: Date;
}

/** What registration and access would put into the buckets that gateways know everybody from. */
export interface TestDirectory {
  /** In an installation, resolves once the replicas that run know it. */
  addCluster(name: string, generation?: number): Promise<ClusterEntry>;
  removeCluster(cluster: ClusterEntry): Promise<void>;
  /** The token. */
  addToken(principal: { user: string; groups: string[] }, expiresAt?: Date): Promise<string>;
  removeToken(token: string): Promise<void>;
  /** The token of a person who has logged in, and has what they are granted and no more. `sessionEndsAt`: it is of a session. */
  addLogin(user: string, login?: GivenLogin): Promise<string>;
  /** All that is granted to this subject from now on; none: nothing. The ids of the grants, in order. */
  putGrants(subject: Subject, ...grants: readonly GivenGrant[]): Promise<string[]>;
  /** Null: every cluster. */
  lockDown(cluster: ClusterEntry | null, reason: string): Promise<void>;
  liftLockdown(cluster: ClusterEntry | null): Promise<void>;
  /** Changes one that is there. */
  putCluster(cluster: ClusterEntry): Promise<void>;
  /** A client of the CONNECT door; null: every cluster of the tenant. */
  addClient(clusters: readonly ClusterEntry[] | null): Promise<ClientEntry>;
  /** Changes one that is there. */
  putClient(client: ClientEntry): Promise<void>;
  removeClient(client: ClientEntry): Promise<void>;
  /** What `keys` would put there. */
  revokeCertificate(certificate: { readonly serial: string; readonly notAfter: Date }): Promise<void>;
  revokeCluster(cluster: ClusterEntry): Promise<void>;
}

/** Each has five seconds, which a busy machine may take from it; twice does no harm. */
const put: typeof putKv = (...entry) => eventually(() => putKv(...entry));
const drop: typeof deleteKv = (...entry) => eventually(() => deleteKv(...entry));

/** The connections of those whose buckets it fills. */
export type DirectoryWriters = Readonly<Record<'registration' | 'access' | 'keys', NatsConnection>>;

/** Resolves once replicas can be ready by it. */
export async function testDirectory({ registration: nc, access, keys }: DirectoryWriters): Promise<TestDirectory> {
  let revocations = 0;
  const countRevocations = (): Promise<void> =>
    put(keys, BUCKETS.revocations, revocationKeys.state, { kind: 'state', count: revocations });
  const revoke = async (key: string, entry: RevocationEntry): Promise<void> => {
    await put(keys, BUCKETS.revocations, key, entry);
    revocations += 1;
    await countRevocations();
  };
  await countRevocations();
  await put(access, BUCKETS.grants, grantsKeys.complete, {});
  const tokenKeys = new Map<string, string>();
  const putClient = (entry: ClientEntry): Promise<void> => put(nc, BUCKETS.clients, `default.${entry.clientId}`, entry);
  const putToken = async (
    proven: Pick<AccessEntry, 'user' | 'groups' | 'kind' | 'subjectGroups' | 'sessionId'>,
    expiresAt?: Date,
  ): Promise<string> => {
    const token = sha256Hex(randomUUID());
    const tokenHash = createHash('sha256').update(token).digest('base64');
    const tokenId = randomUUID();
    const expiry = { expiresAt: expiresAt?.toISOString() ?? null };
    const entry: AccessEntry = { ...proven, ...expiry, tenantId: 'default', tokenId, tokenHash };
    tokenKeys.set(token, `default.token.${tokenId}`);
    await put(access, BUCKETS.access, `default.token.${tokenId}`, entry);
    return token;
  };
  return {
    addCluster: async (name, generation = 1) => {
      const entry: ClusterEntry = { tenantId: 'default', clusterId: randomUUID(), name, generation, labels: {} };
      await put(nc, BUCKETS.clusters, `default.${entry.clusterId}`, entry);
      return entry;
    },
    removeCluster: ({ clusterId }) => drop(nc, BUCKETS.clusters, `default.${clusterId}`),
    addToken: (principal, expiresAt) => putToken({ ...principal, kind: 'administrator', subjectGroups: [] }, expiresAt),
    addLogin: async (user, { groups: subjectGroups = [], expiresAt, sessionEndsAt } = {}) => {
      const login = { user, kind: 'login', subjectGroups } as const;
      if (!sessionEndsAt) return putToken({ ...login, groups: [] }, expiresAt);
      const [sessionId, endsAt] = [randomUUID(), sessionEndsAt.toISOString()];
      const session: LoginSessionEntry = { tenantId: 'default', sessionId, user, subjectGroups, endsAt };
      await put(access, BUCKETS.access, `default.session.${sessionId}`, session);
      return putToken({ ...login, groups: [], sessionId }, expiresAt);
    },
    putGrants: async (subject, ...given) => {
      const grants = given.map(grantOf);
      const key = grantsKeys.subject('default', subject);
      const entry: GrantsEntry = { kind: 'subject', tenantId: 'default', subject, grants };
      await (grants.length > 0 ? put(access, BUCKETS.grants, key, entry) : drop(access, BUCKETS.grants, key));
      return grants.map(({ rule }) => rule.grantId);
    },
    lockDown: (cluster, reason) => {
      const clusterId = cluster?.clusterId ?? null;
      const entry: GrantsEntry = { kind: 'lockdown', tenantId: 'default', clusterId, reason };
      return put(access, BUCKETS.grants, grantsKeys.lockdown('default', clusterId), entry);
    },
    liftLockdown: (cluster) => drop(access, BUCKETS.grants, grantsKeys.lockdown('default', cluster?.clusterId ?? null)),
    putCluster: (entry) => put(nc, BUCKETS.clusters, `default.${entry.clusterId}`, entry),
    removeToken: (token) => drop(access, BUCKETS.access, tokenKeys.get(token) ?? ''),
    addClient: async (clusters) => {
      const clientId = randomUUID();
      const clusterIds = clusters?.map((cluster) => cluster.clusterId) ?? null;
      const entry: ClientEntry = { tenantId: 'default', clientId, name: `client-${clientId.slice(0, 8)}`, clusterIds };
      await putClient(entry);
      return entry;
    },
    putClient,
    removeClient: ({ clientId }) => drop(nc, BUCKETS.clients, `default.${clientId}`),
    revokeCertificate: ({ serial, notAfter }) =>
      revoke(revocationKeys.certificate(serial), { kind: 'certificate', serial, notAfter: notAfter.toISOString() }),
    revokeCluster: ({ clusterId, generation }) =>
      revoke(revocationKeys.cluster(clusterId), { kind: 'generation', clusterId, throughGeneration: generation }),
  };
}

function grantOf({
  clusters = { all: true },
  notBefore = null,
  expiresAt = null,
  targets,
  ...rule
}: GivenGrant): GrantEntry {
  const whole: AccessRule = {
    grantId: randomUUID(),
    effect: 'allow',
    groups: rule.effect === 'deny' ? [] : ['fairlead:view'],
    narrowing: {},
    ...rule,
  };
  return { rule: whole, clusters, notBefore, expiresAt, ...(targets ? { targets } : {}) };
}
