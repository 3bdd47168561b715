import type { Caller, ClusterGitOps } from '@fairlead/contracts';
import type { ObjectEvent } from '@fairlead/desired-state';
import { FairleadError } from '@fairlead/errors';
import { healthOf, type HealthInput, type HealthLimits } from '../domain/cluster-health.js';
import { fitPage } from '../domain/fit-page.js';
import { beginRotation } from '../domain/key-plan.js';
import {
  findClusterByName,
  listClusters,
  lockCluster,
  updateCluster,
  type StoredCluster,
} from '../store/cluster-store.js';
import { listClusterEvents } from '../store/event-store.js';
import { commit, operatorOf, read, tell, type Runtime } from './runtime.js';

const PAGE_ROWS = 100;

/** What is wanted of clusters, and how they are. */
export class ClusterStatus {
  readonly #runtime: Runtime;
  readonly #limits: HealthLimits;

  constructor(runtime: Runtime, limits: HealthLimits) {
    this.#runtime = runtime;
    this.#limits = limits;
  }

  /** NOT_FOUND if there is no such cluster. */
  async get(tenantId: string, name: string): Promise<ClusterGitOps> {
    return this.#show(await this.#find(tenantId, name));
  }

  /** By name; `next`: there are more after it. */
  async list(tenantId: string, after = ''): Promise<{ clusters: ClusterGitOps[]; next?: string }> {
    const rows = await read(this.#runtime, (manager) => listClusters(manager, tenantId, after, PAGE_ROWS + 1));
    const clusters = fitPage(rows.slice(0, PAGE_ROWS).map((row) => this.#show(row)));
    const last = clusters.at(-1);
    return { clusters, ...(last && clusters.length < rows.length ? { next: last.name } : {}) };
  }

  /** Newest first, as many as one answer holds. NOT_FOUND. */
  async events(tenantId: string, name: string): Promise<ObjectEvent[]> {
    const { id } = await this.#find(tenantId, name);
    return fitPage(await read(this.#runtime, (manager) => listClusterEvents(manager, id)));
  }

  /** NOT_FOUND; CONFLICT while one is under way, or where nothing is followed. */
  async rotateKey(caller: Caller, tenantId: string, name: string, actor: string): Promise<ClusterGitOps> {
    const { id } = await this.#find(tenantId, name);
    return commit(this.#runtime, async (manager) => {
      const cluster = await lockCluster(manager, id);
      if (!cluster) throw new FairleadError('NOT_FOUND', `there is no cluster named ${name}`);
      const deployKeys = beginRotation(cluster.deployKeys);
      if (!deployKeys?.next) {
        const why = cluster.deployKeys.next ? 'is being rotated already' : 'is not in use: it follows no repository';
        throw new FairleadError('CONFLICT', `the deploy key of ${name} ${why}`);
      }
      const change = { deployKeys, dueAt: this.#runtime.now(), touched: cluster.touched + 1 };
      await updateCluster(manager, id, change);
      const about = { tenantId, subject: `cluster/${id}`, actor: operatorOf(caller, actor), reason: 'OK' };
      const data = { ...about, clusterId: id, name, number: deployKeys.next.number, step: 'begun' as const };
      await tell(this.#runtime, manager, 'dev.fairlead.deploy-key.rotated.v1', data);
      return this.#show({ ...cluster, ...change });
    });
  }

  async #find(tenantId: string, name: string): Promise<StoredCluster> {
    const cluster = await read(this.#runtime, (manager) => findClusterByName(manager, tenantId, name));
    if (!cluster) throw new FairleadError('NOT_FOUND', `there is no cluster named ${name}`);
    return cluster;
  }

  #show(row: StoredCluster): ClusterGitOps {
    const { id: clusterId, name, assignment, revision, wish, report, waitsFor } = row;
    const reportedAt = row.reportedAt?.toISOString() ?? null;
    const health = healthOf(healthInputOf(row), this.#runtime.now().getTime(), this.#limits);
    return { clusterId, name, assignment, revision, wish, report, reportedAt, health, waitsFor };
  }
}

export function healthInputOf({ revision, wish, revisedAt, report, reportedAt }: StoredCluster): HealthInput {
  return {
    revision,
    wish,
    revisedAtMs: revisedAt?.getTime() ?? 0,
    report: report && { ...report, sourceReady: report.source?.ready ?? null },
    reportedAtMs: reportedAt?.getTime() ?? 0,
  };
}
