import { fitPage, placeText, readPlace, type BootstrapToken, type Caller } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { tokenState } from '../domain/token-state.js';
import { findClusterByName, lockCluster, type StoredCluster } from '../store/cluster-store.js';
import {
  listBootstrapTokens,
  lockBootstrapToken,
  markTokenRevoked,
  type StoredBootstrapToken,
} from '../store/token-store.js';
import { commit, operatorOf, read, tell, type Runtime } from './runtime.js';
import { turnAway } from './turn-away.js';

const PAGE_ROWS = 200;

/** The tokens in import manifests, after they were handed out. */
export class BootstrapTokens {
  constructor(private readonly runtime: Runtime) {}

  /** Newest first, as many as fit in an answer; `next` is the place to go on after. NOT_FOUND if there is no such cluster. */
  async list(tenantId: string, name: string, after?: string): Promise<{ tokens: BootstrapToken[]; next?: string }> {
    const place = after === undefined ? null : readPlace(after);
    return read(this.runtime, async (manager) => {
      const cluster = await findClusterByName(manager, tenantId, name);
      const rows = await listBootstrapTokens(manager, cluster.id, place, PAGE_ROWS + 1);
      const tokens = fitPage(rows.slice(0, PAGE_ROWS).map((token) => this.#show(token, cluster)));
      const last = rows[tokens.length - 1];
      if (!last || tokens.length === rows.length) return { tokens };
      return { tokens, next: placeText({ atMs: last.createdAt.getTime(), id: last.id }) };
    });
  }

  /** Leaves alone what the token enrolled; who waits with it is rejected. Again: no change, and no event. NOT_FOUND. */
  async revoke(
    caller: Caller,
    tenantId: string,
    { name, id, by }: { readonly name: string; readonly id: string; readonly by: string },
  ): Promise<BootstrapToken> {
    return commit(this.runtime, async (manager) => {
      const cluster = await findClusterByName(manager, tenantId, name);
      // Whoever approves an agent with this token holds the same lock.
      await lockCluster(manager, cluster.id);
      const token = await lockBootstrapToken(manager, id);
      if (token?.clusterId !== cluster.id) {
        throw new FairleadError('NOT_FOUND', `the cluster ${name} has no bootstrap token ${id}`);
      }
      if (token.revokedAt) return this.#show(token, cluster);
      const revokedAt = this.runtime.now();
      await markTokenRevoked(manager, id, revokedAt);
      const why = 'the bootstrap token of this agent was revoked';
      await turnAway(this.runtime, manager, { tokenId: id }, { actor: operatorOf(caller, by), why });
      await tell(this.runtime, manager, 'dev.fairlead.token.revoked.v1', {
        tenantId,
        clusterId: cluster.id,
        name,
        tokenId: id,
        subject: `token/${id}`,
        actor: operatorOf(caller, by),
        reason: 'OK',
      });
      return this.#show({ ...token, revokedAt }, cluster);
    });
  }

  #show(token: StoredBootstrapToken, { name }: StoredCluster): BootstrapToken {
    const { id, tenantId, boundSpkiSha256: fingerprint, boundGeneration: generation } = token;
    return {
      id,
      tenantId,
      cluster: name,
      state: tokenState(token, this.runtime.now()),
      createdAt: token.createdAt.toISOString(),
      expiresAt: token.expiresAt.toISOString(),
      revokedAt: token.revokedAt?.toISOString() ?? null,
      usedBy: fingerprint === null || generation === null ? null : { fingerprint, generation },
    };
  }
}
