import { DEFAULT_TENANT, gitopsRpc } from '@fairlead/contracts';
import type { InstallerReport, PublicKey } from '@fairlead/desired-state';
import type { GitopsFixture } from './gitops-fixture.js';
import { newPublicKey } from './public-key.js';

/** Plays a cluster's installer: it acts on what the bucket holds, and reports over the real RPC. */
export class ScriptedInstaller {
  readonly #fixture: GitopsFixture;
  readonly clusterId: string;
  readonly #instance = crypto.randomUUID();
  readonly #keys = new Map<number, string>();
  /** What it says beyond what it read; a test sets it. */
  says: Partial<InstallerReport> = {};
  /** Whether the tool fetches with a key; null: not tried. */
  works: (number: number) => boolean | null = () => true;

  constructor(fixture: GitopsFixture, clusterId: string) {
    this.#fixture = fixture;
    this.clusterId = clusterId;
  }

  /** Has the keys that the other one has, as after it was restored from the other cluster's backup. */
  restoreFrom(other: ScriptedInstaller): void {
    for (const [number, publicKey] of other.#keys) this.#keys.set(number, publicKey);
  }

  /** Brings the cluster to what is desired, unless the test says otherwise, and reports. */
  async report(): Promise<InstallerReport> {
    const state = await this.#fixture.stateOf(this.clusterId);
    const revision = state?.revision ?? 0;
    const report: InstallerReport = {
      version: 1,
      clusterId: this.clusterId,
      installerVersion: '0.1.0',
      installerInstance: this.#instance,
      observedRevision: revision,
      appliedRevision: revision,
      bundleDigest: state?.gitops?.bundle.digest ?? null,
      wantedBundle: null,
      phase: state?.gitops ? 'healthy' : 'off',
      problem: null,
      publicKeys: this.#publicKeys(state?.gitops?.deployKey),
      source: null,
      sync: null,
      functionalAt: null,
      events: [],
      ...this.says,
    };
    const request = { clusterId: this.clusterId, report };
    await this.#fixture.asGateway.call(gitopsRpc.reportCluster, DEFAULT_TENANT, request);
    return report;
  }

  #publicKeys(desired: { current: number; next: number | null } | undefined): PublicKey[] {
    const numbers = desired ? [desired.current, ...(desired.next === null ? [] : [desired.next])] : [];
    return numbers.map((number) => ({ number, publicKey: this.#key(number), works: this.works(number) }));
  }

  #key(number: number): string {
    const key = this.#keys.get(number) ?? newPublicKey();
    this.#keys.set(number, key);
    return key;
  }
}
