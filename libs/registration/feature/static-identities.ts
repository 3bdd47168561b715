import type { Caller, TrustBundle } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { checkCsr } from '@fairlead/pki';
import type { EntityManager } from 'typeorm';
import { firstEndpoints } from '../domain/first-endpoints.js';
import { lockClusterByName, markEnrolled, reserveGeneration, type StoredCluster } from '../store/cluster-store.js';
import { revokeUnusedTokens } from '../store/token-store.js';
import type { SignAgent } from './enrolments.js';
import { commit, operatorOf, tell, type Runtime } from './runtime.js';
import { turnAway } from './turn-away.js';

/** In events, in the place of a token's id, for an identity that an administrator handed out. */
const STATIC = 'static';
/** Each one finds that the cluster has enrolled again since the one before. */
const ATTEMPTS = 3;

export interface StaticIdentitiesOptions {
  /** `host:port` that agents dial where no others are named. */
  readonly endpoints: readonly string[];
  readonly signAgent: SignAgent;
  /** Asks the keys service. */
  readonly trustBundle: () => Promise<TrustBundle>;
  /** What is applied in the cluster beside a Secret with the identity. */
  readonly manifestFor: (cluster: StoredCluster, bundle: TrustBundle) => string;
}

/** What goes with the key of whoever asked. */
export interface IssuedIdentity {
  readonly cluster: string;
  readonly clusterId: string;
  readonly generation: number;
  readonly trustDomain: string;
  readonly endpoints: string[];
  readonly chain: string[];
  readonly roots: string[];
  readonly notAfter: string;
  readonly manifest: string;
}

/**
 * Identities that an administrator takes to an agent by hand. The administrator is the approval, whatever the policy
 * says: where it is `always-reject`, this is the only way in.
 */
export class StaticIdentities {
  constructor(
    private readonly runtime: Runtime,
    private readonly options: StaticIdentitiesOptions,
  ) {}

  /**
   * A new enrolment of the cluster, for the key of the request: it fences the one before, and its unused tokens die.
   * NOT_FOUND, CSR_INVALID. UNAVAILABLE: the cluster goes on as before. DEADLINE_EXCEEDED: so it does, but `keys` may have
   * counted the enrolment, and then renews no older one for two minutes (ADR 15). The number of an enrolment that failed is not given again, so
   * that no two keys have the same one.
   */
  async issue(
    caller: Caller,
    tenantId: string,
    input: { readonly name: string; readonly csr: string; readonly by: string },
  ): Promise<IssuedIdentity> {
    const { spkiSha256 } = await checkCsr(Buffer.from(input.csr, 'base64'));
    const bundle = await this.options.trustBundle();
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      // Committed before `keys` hears of it: it stays taken, whatever becomes of the question.
      const generation = await commit(this.runtime, async (manager) =>
        reserveGeneration(manager, await lockClusterByName(manager, tenantId, input.name)),
      );
      const issued = await this.#issueAs(caller, tenantId, { ...input, generation, spkiSha256, bundle });
      if (issued) return issued;
    }
    throw new FairleadError('CONFLICT', `the cluster ${input.name} enrols again and again; try again`);
  }

  /** Null if the cluster has enrolled with a higher number since. */
  #issueAs(
    caller: Caller,
    tenantId: string,
    asked: {
      readonly name: string;
      readonly csr: string;
      readonly by: string;
      readonly generation: number;
      readonly spkiSha256: string;
      readonly bundle: TrustBundle;
    },
  ): Promise<IssuedIdentity | null> {
    const { name, csr, by, generation, spkiSha256, bundle } = asked;
    return commit(this.runtime, async (manager) => {
      const cluster = await lockClusterByName(manager, tenantId, name);
      if (cluster.generation >= generation) return null;
      const { id: clusterId } = cluster;
      await this.#record(manager, caller, { cluster, generation, spkiSha256, by });
      // Within the transaction: an agent that works must not be fenced by an identity that nobody received.
      const { chain, roots, notAfter } = await this.options.signAgent(tenantId, { clusterId, generation, csr });
      const manifest = this.options.manifestFor(cluster, bundle);
      const { trustDomain } = bundle;
      const endpoints = firstEndpoints(bundle.endpoints, this.options.endpoints);
      return { cluster: name, clusterId, generation, trustDomain, endpoints, chain, roots, notAfter, manifest };
    });
  }

  async #record(
    manager: EntityManager,
    caller: Caller,
    made: { cluster: StoredCluster; generation: number; spkiSha256: string; by: string },
  ): Promise<void> {
    const { cluster, generation, spkiSha256, by } = made;
    const { id: clusterId, tenantId, name, facts } = cluster;
    const now = this.runtime.now();
    const about = { tenantId, clusterId, name, actor: operatorOf(caller, by), reason: 'OK' };
    for (const tokenId of await revokeUnusedTokens(manager, clusterId, now)) {
      const revoked = { ...about, tokenId, subject: `token/${tokenId}` };
      await tell(this.runtime, manager, 'dev.fairlead.token.revoked.v1', revoked);
    }
    const why = 'an administrator took an identity to this cluster by hand';
    await turnAway(this.runtime, manager, { clusterId }, { actor: about.actor, why });
    await markEnrolled(manager, cluster, { generation, facts, enrolledAt: now });
    await tell(this.runtime, manager, 'dev.fairlead.enrolment.succeeded.v1', {
      ...about,
      tokenId: STATIC,
      generation,
      spkiSha256,
      // Nobody has seen the agent yet.
      agentVersion: '',
      kubernetesVersion: '',
      subject: `cluster/${clusterId}`,
    });
  }
}
