import { createHash, randomBytes } from 'node:crypto';
import { BUCKETS, type ClusterEntry, type DesiredEntry } from '@fairlead/contracts';
import type { InstallerReport } from '@fairlead/desired-state';
import { FairleadError } from '@fairlead/errors';
import { putKv } from '@fairlead/messaging';
import type { NatsConnection } from '@nats-io/transport-node';

const CHUNK_BYTES = 131_072;

/** What the gitops service would write and answer, as far as replicas and agents see it. */
export class TestGitops {
  readonly #nc: NatsConnection;
  readonly reports: { readonly tenantId: string; readonly clusterId: string; readonly report: InstallerReport }[] = [];
  readonly #bundles = new Map<string, Buffer>();
  /** It answers nothing meanwhile. */
  away = false;
  /** Calls that came while it was away. */
  missed = 0;

  constructor(nc: NatsConnection) {
    this.#nc = nc;
  }

  /** Writes a desired state, signed by nobody: who carries it does not read it. */
  async want(
    { tenantId, clusterId }: Pick<ClusterEntry, 'tenantId' | 'clusterId'>,
    revision: number,
    text = `state ${revision}`,
  ): Promise<DesiredEntry> {
    const entry: DesiredEntry = {
      revision,
      document: Buffer.from(text).toString('base64'),
      signerChain: ['-----BEGIN CERTIFICATE-----\nsigner\n-----END CERTIFICATE-----\n'],
      signature: randomBytes(64).toString('base64'),
    };
    await putKv(this.#nc, BUCKETS.desired, `${tenantId}.${clusterId}`, entry);
    return entry;
  }

  /** Has a bundle of so many bytes, compressed; its digest. */
  addBundle(bytes: number): { readonly digest: string; readonly gzip: Buffer } {
    const gzip = randomBytes(bytes);
    const digest = createHash('sha256').update(gzip).digest('hex');
    this.#bundles.set(digest, gzip);
    return { digest, gzip };
  }

  /** A call of a replica. */
  answer(method: string, tenantId: string, input: unknown): Promise<unknown> {
    if (this.away) {
      this.missed += 1;
      return Promise.reject(new FairleadError('UNAVAILABLE', 'gitops is away'));
    }
    if (method === 'report-cluster') {
      this.reports.push({ tenantId, ...(input as { clusterId: string; report: InstallerReport }) });
      return Promise.resolve({});
    }
    const { digest, offset } = input as { digest: string; offset: number };
    const gzip = this.#bundles.get(digest);
    if (!gzip) return Promise.reject(new FairleadError('NOT_FOUND', 'there is no such bundle'));
    const piece = gzip.subarray(offset, offset + CHUNK_BYTES).toString('base64');
    return Promise.resolve({ piece, compressedBytes: gzip.length });
  }
}

/** A report as an installer writes it. */
export function reportOf(clusterId: string, changes: Partial<InstallerReport> = {}): InstallerReport {
  return {
    version: 1,
    clusterId,
    installerVersion: '0.1.0',
    installerInstance: '6c1f3a0e-3d1c-4b52-9a7e-6f1d2b3c4d5e',
    observedRevision: 1,
    appliedRevision: 0,
    bundleDigest: null,
    wantedBundle: null,
    phase: 'waiting',
    problem: null,
    publicKeys: [],
    source: null,
    sync: null,
    functionalAt: null,
    events: [],
    ...changes,
  };
}
