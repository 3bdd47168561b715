import { NO_TENANT, registrationRpc, type Caller, type TrustBundle } from '@fairlead/contracts';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import { RateLimitedEvents } from '@fairlead/limits';
import { enrolmentProofKey, formatToken, newProvableTokenId } from '@fairlead/pki';
import type { EntityManager } from 'typeorm';
import { firstEndpoints } from '../domain/first-endpoints.js';
import { renderImportManifest, renderInstallerManifest } from '../domain/import-manifest.js';
import { hashSecret, newSecret } from '../domain/secret-hash.js';
import { findClusterByName, lockCluster, type StoredCluster } from '../store/cluster-store.js';
import {
  deleteOldLinks,
  findImportLink,
  insertBootstrapToken,
  insertImportLink,
  lockImportLink,
  markRedeemed,
  revokeUnusedTokens,
  type StoredImportLink,
} from '../store/token-store.js';
import { actorOf, commit, read, refuse, tell, type Runtime } from './runtime.js';
import { turnAway } from './turn-away.js';

/** After this the caller has given up, or soon will: a code must not be spent for nobody. */
const REDEEM_MS = registrationRpc.redeemImportLink.timeoutMs - 1_000;
/** How long a link that is no longer good is still told from one that never was. */
const KEEP_LINKS_MS = 86_400_000;

export interface ImportLinksOptions {
  /** `host:port` that agents dial where no others are named. */
  readonly endpoints: readonly string[];
  /** What agents call gateways in TLS; absent: what they do by themselves. */
  readonly serverName?: string | undefined;
  /** The agent's container image. */
  readonly image: string;
  readonly installerImage: string;
  /** Where the agent sends its spans; absent: nowhere. */
  readonly tracingEndpoint?: string | undefined;
  readonly linkTtlSeconds: number;
  readonly tokenTtlSeconds: number;
  /** Asks the keys service. */
  readonly trustBundle: () => Promise<TrustBundle>;
}

/** Links that are good for one GET of an import manifest, and the tokens in it. */
export class ImportLinks {
  readonly #refusals = new RateLimitedEvents();

  constructor(
    private readonly runtime: Runtime,
    private readonly options: ImportLinksOptions,
  ) {}

  /** A code for one GET. NOT_FOUND if there is no such cluster. */
  async create(caller: Caller, tenantId: string, name: string): Promise<{ code: string; expiresAt: string }> {
    const code = newSecret().toString('base64url');
    const expiresAt = this.#inSeconds(this.options.linkTtlSeconds);
    await commit(this.runtime, async (manager) => {
      const cluster = await findClusterByName(manager, tenantId, name);
      await deleteOldLinks(manager, cluster.id, new Date(this.runtime.now().getTime() - KEEP_LINKS_MS));
      const id = crypto.randomUUID();
      await insertImportLink(manager, { id, tenantId, clusterId: cluster.id, codeHash: hashSecret(code), expiresAt });
      const event = { ...about(caller, cluster), expiresAt: expiresAt.toISOString() };
      await tell(this.runtime, manager, 'dev.fairlead.import-link.created.v1', event);
    });
    return { code, expiresAt: expiresAt.toISOString() };
  }

  /**
   * Spends a code for a manifest with a fresh token; tokens of the cluster that nobody used are revoked. Whatever fails
   * spends nothing. NOT_FOUND: no such code; GONE: expired or spent; UNAVAILABLE: keys or the database are away.
   */
  async redeem(caller: Caller, code: string): Promise<string> {
    const startedMs = performance.now();
    const link = await read(this.runtime, (manager) => findImportLink(manager, hashSecret(code)));
    try {
      if (!link) throw new FairleadError('NOT_FOUND', 'there is no such import link; create a new one');
      this.#checkUsable(link);
      const bundle = await this.options.trustBundle();
      return await commit(this.runtime, async (manager) => {
        const manifest = await this.#redeemIn(manager, caller, link, bundle);
        if (performance.now() - startedMs < REDEEM_MS) return manifest;
        throw new FairleadError('DEADLINE_EXCEEDED', 'it took too long; nothing was spent, so try the link again');
      });
    } catch (error) {
      const known = toFairleadError(error);
      const limit = { rate: this.#refusals, who: link?.clusterId ?? null };
      return refuse(this.runtime, limit, known, 'dev.fairlead.import-link.refused.v1', {
        tenantId: link?.tenantId ?? NO_TENANT,
        clusterId: link?.clusterId ?? null,
        subject: link ? `import-link/${link.id}` : 'import-link/unknown',
        actor: actorOf(caller),
        reason: known.code,
      });
    }
  }

  async #redeemIn(
    manager: EntityManager,
    caller: Caller,
    { id, clusterId }: StoredImportLink,
    bundle: TrustBundle,
  ): Promise<string> {
    const cluster = await lockCluster(manager, clusterId);
    const link = await lockImportLink(manager, id);
    if (!cluster || !link) throw new FairleadError('NOT_FOUND', 'the cluster of this import link was deleted');
    this.#checkUsable(link);
    await markRedeemed(manager, id, this.runtime.now());
    const token = await this.#mintToken(manager, caller, cluster, bundle.pins[0] ?? '');
    const redeemed = { ...about(caller, cluster), tokenId: token.id };
    await tell(this.runtime, manager, 'dev.fairlead.import-link.redeemed.v1', redeemed);
    return renderImportManifest({
      ...this.#installation(bundle),
      cluster: { name: cluster.name, id: clusterId },
      links: cluster.links,
      targets: cluster.targets,
      egress: cluster.egress,
      bootstrapToken: token.text,
      installer: this.#installerOf(cluster),
      values: cluster.manifestValues,
    });
  }

  /** The manifest of an agent that waits to be adopted: it is the same for all of them, and no secret. */
  async adoptionManifest(): Promise<string> {
    const bundle = await this.options.trustBundle();
    return renderImportManifest({
      ...this.#installation(bundle),
      cluster: null,
      links: 2,
      targets: [],
      egress: [],
      bootstrapToken: null,
      // Whoever is adopted learns only then which cluster it is: `installerManifest` is for afterwards.
      installer: null,
      values: {},
    });
  }

  /** The manifest that goes with an identity which was handed out: without a token, and no secret. */
  manifestWithoutToken(of: StoredCluster, bundle: TrustBundle): string {
    const { id, name, links, targets, egress, manifestValues: values } = of;
    return renderImportManifest({
      ...this.#installation(bundle),
      cluster: { name, id },
      links,
      targets,
      egress,
      bootstrapToken: null,
      installer: this.#installerOf(of),
      values,
    });
  }

  /** What adds an installer to a cluster that has an agent already. NOT_FOUND; no secret, and nothing is stored. */
  async installerManifest(tenantId: string, name: string): Promise<string> {
    const bundle = await this.options.trustBundle();
    const cluster = await read(this.runtime, (manager) => findClusterByName(manager, tenantId, name));
    const { id: clusterId, manifestValues: values } = cluster;
    const { pins, trustDomain } = bundle;
    const image = this.options.installerImage;
    return renderInstallerManifest({ name, clusterId, pins, trustDomain, image, values });
  }

  #installerOf({ gitops }: StoredCluster): { image: string } | null {
    return gitops ? { image: this.options.installerImage } : null;
  }

  #installation({ pins, trustDomain, endpoints: named }: TrustBundle) {
    const { serverName, image, tracingEndpoint } = this.options;
    const endpoints = firstEndpoints(named, this.options.endpoints);
    return { endpoints, serverName, image, tracingEndpoint, pins, trustDomain };
  }

  async #mintToken(
    manager: EntityManager,
    caller: Caller,
    cluster: StoredCluster,
    pin: string,
  ): Promise<{ id: string; text: string }> {
    for (const revoked of await revokeUnusedTokens(manager, cluster.id, this.runtime.now())) {
      const event = { ...about(caller, cluster), tokenId: revoked, subject: `token/${revoked}` };
      await tell(this.runtime, manager, 'dev.fairlead.token.revoked.v1', event);
    }
    const why = 'a newer import manifest replaced the bootstrap token of this agent';
    await turnAway(this.runtime, manager, { clusterId: cluster.id }, { actor: actorOf(caller), why });
    const [id, secret] = [newProvableTokenId(), newSecret()];
    const text = formatToken({ pin, id, secret });
    const expiresAt = this.#inSeconds(this.options.tokenTtlSeconds);
    const { id: clusterId, tenantId } = cluster;
    // The hash is for agents that make no proof. Neither is any use to who reads the database.
    const shown = { secretHash: hashSecret(secret), proofKey: enrolmentProofKey({ id, secret }) };
    await insertBootstrapToken(manager, { id, tenantId, clusterId, ...shown, expiresAt });
    const minted = {
      ...about(caller, cluster),
      tokenId: id,
      subject: `token/${id}`,
      expiresAt: expiresAt.toISOString(),
    };
    await tell(this.runtime, manager, 'dev.fairlead.token.minted.v1', minted);
    return { id, text };
  }

  #checkUsable(link: StoredImportLink): void {
    if (link.redeemedAt) throw new FairleadError('GONE', 'this import link was used already; create a new one');
    if (link.expiresAt.getTime() <= this.runtime.now().getTime()) {
      throw new FairleadError('GONE', 'this import link has expired; create a new one');
    }
  }

  #inSeconds(seconds: number): Date {
    return new Date(this.runtime.now().getTime() + seconds * 1_000);
  }
}

function about(caller: Caller, { tenantId, id: clusterId, name }: StoredCluster) {
  return { tenantId, clusterId, name, subject: `cluster/${clusterId}`, actor: actorOf(caller), reason: 'OK' };
}
