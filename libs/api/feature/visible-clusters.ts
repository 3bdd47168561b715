import { accessRpc, registrationRpc, type Cluster, type ClusterFilter, type Principal } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { Backend } from './backend.js';

/** One page of a list of clusters. */
export interface VisiblePage {
  readonly clusters: Cluster[];
  readonly next?: string | undefined;
}

/** Clusters as somebody may see them: administrators all of their tenant, others those that a grant of theirs means. */
export class VisibleClusters {
  constructor(private readonly backend: Backend) {}

  /** A page of them; `next` is the name of one of them, too. */
  async list(
    principal: Principal,
    query: ClusterFilter & { readonly after?: string | undefined },
  ): Promise<VisiblePage> {
    const { tenantId } = principal;
    if (principal.administrator) return this.backend.read(registrationRpc.listClusters, tenantId, query);
    const granted = await this.#granted(principal, { after: query.after });
    if (granted.names.length === 0) return { clusters: [] };
    const page = await this.backend.read(registrationRpc.listClusters, tenantId, { ...query, names: granted.names });
    return { clusters: page.clusters, next: page.next ?? granted.next };
  }

  /** NOT_FOUND also for one that no grant means: whoever may not see it is not told that it is there. */
  async get(principal: Principal, name: string): Promise<Cluster> {
    await this.requireVisible(principal, name);
    return this.backend.read(registrationRpc.getCluster, principal.tenantId, { name });
  }

  /** NOT_FOUND. Asks nobody about an administrator. */
  async requireVisible(principal: Principal, name: string): Promise<void> {
    if (principal.administrator) return;
    const { names } = await this.#granted(principal, { name });
    // The same words as of one that is not there.
    if (!names.includes(name)) throw new FairleadError('NOT_FOUND', `there is no cluster named ${name}`);
  }

  #granted(principal: Principal, which: { readonly after?: string | undefined; readonly name?: string }) {
    const { tenantId, user, kind, subjectGroups } = principal;
    return this.backend.read(accessRpc.clustersOf, tenantId, { user, kind, subjectGroups, ...which });
  }
}
