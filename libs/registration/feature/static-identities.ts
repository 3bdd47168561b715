import type { Caller, TrustBundle } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { checkCsr } from '@fairlead/pki';
import type { EntityManager } from 'typeorm';
import { findClusterByName, lockCluster, markEnrolled, type StoredCluster } from '../store/cluster-store.js';
import { revokeUnusedTokens } from '../store/token-store.js';
import type { SignAgent } from './enrolments.js';
import { commit, operatorOf, tell, type Runtime } from './runtime.js';
import { turnAway } from './turn-away.js';

/** In events, in the place of a token's id, for an identity that an administrator handed out. */
const STATIC = 'static';

export interface StaticIdentitiesOptions {
  /** `host:port` that agents dial. */
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
  readonly #runtime: Runtime;
  readonly #options: StaticIdentitiesOptions;

  constructor(runtime: Runtime, options: StaticIdentitiesOptions) {
    this.#runtime = runtime;
    this.#options = options;
  }

  /**
   * A new enrolment of the cluster, for the key of the request: it fences the one before, and its unused tokens die.
   * NOT_FOUND, CSR_INVALID. UNAVAILABLE: the cluster goes on as before. DEADLINE_EXCEEDED: so it does, but `keys` may have
   * counted the enrolment and renew no older one: ask again before the agent's certificate ends.
   */
  async issue(
    caller: Caller,
    tenantId: string,
    { name, csr, by }: { readonly name: string; readonly csr: string; readonly by: string },
  ): Promise<IssuedIdentity> {
    const { spkiSha256 } = await checkCsr(Buffer.from(csr, 'base64'));
    const bundle = await this.#options.trustBundle();
    return commit(this.#runtime, async (manager) => {
      const { id: clusterId } = await findClusterByName(manager, tenantId, name);
      const cluster = await lockCluster(manager, clusterId);
      if (!cluster) throw new FairleadError('NOT_FOUND', `there is no cluster named ${name}`);
      const generation = cluster.generation + 1;
      await this.#record(manager, caller, { cluster, generation, spkiSha256, by });
      // Within the transaction: an agent that works must not be fenced by an identity that nobody received.
      const { chain, roots, notAfter } = await this.#options.signAgent(tenantId, { clusterId, generation, csr });
      const manifest = this.#options.manifestFor(cluster, bundle);
      const { trustDomain } = bundle;
      const endpoints = [...this.#options.endpoints];
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
    const now = this.#runtime.now();
    const about = { tenantId, clusterId, name, actor: operatorOf(caller, by), reason: 'OK' };
    for (const tokenId of await revokeUnusedTokens(manager, clusterId, now)) {
      const revoked = { ...about, tokenId, subject: `token/${tokenId}` };
      await tell(this.#runtime, manager, 'dev.fairlead.token.revoked.v1', revoked);
    }
    const why = 'an administrator took an identity to this cluster by hand';
    await turnAway(this.#runtime, manager, { clusterId }, { actor: about.actor, why });
    await markEnrolled(manager, clusterId, { generation, facts, enrolledAt: now });
    await tell(this.#runtime, manager, 'dev.fairlead.enrolment.succeeded.v1', {
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
