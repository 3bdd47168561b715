import {
  BUCKETS,
  GitHostEntry,
  RevocationEntry,
  StatementRevocationsEntry,
  TRUST_KEY,
  TrustEntry,
  revocationKeys,
} from '@fairlead/contracts';
import type { ProjectedBucket } from '@fairlead/events';
import { allRevocations } from '../store/statement-revocation-store.js';
import { newestBundle } from '../store/authority-store.js';
import { allGitHosts, hostKeysOf } from '../store/git-host-store.js';
import { revokedCertificates, revokedGenerations } from '../store/revocation-store.js';
import { toEntry } from './git/host-view.js';

/** What gateways and gitops know of this service's tables. */
export const KEYS_BUCKETS: readonly ProjectedBucket[] = [
  {
    bucket: BUCKETS.revocations,
    schema: RevocationEntry,
    rows: async (manager) => {
      const now = new Date();
      const certificates = await revokedCertificates(manager, now);
      const generations = await revokedGenerations(manager, now);
      return new Map<string, RevocationEntry>([
        ...certificates.map(toCertificate),
        ...generations.map(toGeneration),
        [revocationKeys.state, { kind: 'state', count: certificates.length + generations.length }],
      ]);
    },
  },
  {
    bucket: BUCKETS.statementRevocations,
    schema: StatementRevocationsEntry,
    rows: async (manager) => {
      const lists = await allRevocations(manager);
      return new Map(
        lists.map(({ tenantId, number, envelope }) => [tenantId, { number, envelope: envelope.toString('base64') }]),
      );
    },
  },
  {
    bucket: BUCKETS.trust,
    schema: TrustEntry,
    rows: async (manager) => {
      const bundle = await newestBundle(manager);
      return new Map<string, TrustEntry>(bundle ? [[TRUST_KEY, bundle]] : []);
    },
  },
  {
    bucket: BUCKETS.gitHosts,
    schema: GitHostEntry,
    rows: async (manager) => {
      const hosts = await allGitHosts(manager);
      const keys = await hostKeysOf(
        manager,
        hosts.map(({ id }) => id),
      );
      return new Map(hosts.map((host) => [`${host.tenantId}.${host.id}`, toEntry(host, keys.get(host.id) ?? [])]));
    },
  },
];

function toCertificate({ serial, knownUntil }: { serial: string; knownUntil: Date }): [string, RevocationEntry] {
  return [revocationKeys.certificate(serial), { kind: 'certificate', serial, notAfter: knownUntil.toISOString() }];
}

function toGeneration(row: { clusterId: string; throughGeneration: number }): [string, RevocationEntry] {
  return [revocationKeys.cluster(row.clusterId), { kind: 'generation', ...row }];
}
