import {
  fitPage,
  type Caller,
  type ClusterDeployKey,
  type ClusterGitOps,
  type RotatedDeployKey,
} from '@fairlead/contracts';
import type { ObjectEvent } from '@fairlead/desired-state';
import { FairleadError } from '@fairlead/errors';
import { healthOf, type HealthInput, type HealthLimits } from '../domain/cluster-health.js';
import { isHeld } from '../domain/key-plan.js';
import { nextRotationMs } from '../domain/key-schedule.js';
import { findClusterByName, listClusters, type StoredCluster } from '../store/cluster-store.js';
import { listClusterEvents } from '../store/event-store.js';
import { listRepositories, type StoredRepository } from '../store/repository-store.js';
import { rotateOnDemand, withdrawEverywhere, type RotationRequest } from './rotate-keys.js';
import { read, type Runtime } from './runtime.js';

const PAGE_ROWS = 100;
/** Of one cluster in an answer. */
const MAX_WITHDRAWING = 64;
/** Of clusters that had the same key: it is two as a rule. */
const MAX_NAMES = 64;

/** What is desired of clusters, and how they are. */
export class ClusterStatus {
  constructor(
    private readonly runtime: Runtime,
    private readonly limits: HealthLimits,
  ) {}

  /** NOT_FOUND if there is no such cluster. */
  async get(tenantId: string, name: string): Promise<ClusterGitOps> {
    const row = await this.#find(tenantId, name);
    return this.#show(row, await this.#repositories(tenantId));
  }

  /** By name; `next`: there are more after it. */
  async list(tenantId: string, after = ''): Promise<{ clusters: ClusterGitOps[]; next?: string }> {
    const rows = await read(this.runtime, (manager) => listClusters(manager, tenantId, after, PAGE_ROWS + 1));
    const repositories = await this.#repositories(tenantId);
    const clusters = fitPage(rows.slice(0, PAGE_ROWS).map((row) => this.#show(row, repositories)));
    const last = clusters.at(-1);
    return { clusters, ...(last && clusters.length < rows.length ? { next: last.name } : {}) };
  }

  /** Newest first, as many as one answer holds. NOT_FOUND. */
  async events(tenantId: string, name: string): Promise<ObjectEvent[]> {
    const { id } = await this.#find(tenantId, name);
    return fitPage(await read(this.runtime, (manager) => listClusterEvents(manager, id)));
  }

  /**
   * Another deploy key. After a compromise the ones that there are leave the Git host first, of whatever cluster they are, and nothing
   * stands in the way of it. NOT_FOUND; CONFLICT where nothing is followed, and on demand while a rotation is under way.
   */
  async rotateKey(caller: Caller, tenantId: string, request: RotationRequest): Promise<RotatedDeployKey> {
    const repositories = await this.#repositories(tenantId);
    if (request.reason === 'demand') {
      return this.#show(await rotateOnDemand(this.runtime, caller, tenantId, request), repositories);
    }
    const { cluster, others } = await withdrawEverywhere(this.runtime, caller, tenantId, request);
    return { ...this.#show(cluster, repositories), alsoReplaced: others.slice(0, MAX_NAMES) };
  }

  async #find(tenantId: string, name: string): Promise<StoredCluster> {
    const cluster = await read(this.runtime, (manager) => findClusterByName(manager, tenantId, name));
    if (!cluster) throw new FairleadError('NOT_FOUND', `there is no cluster named ${name}`);
    return cluster;
  }

  async #repositories(tenantId: string): Promise<readonly StoredRepository[]> {
    return read(this.runtime, (manager) => listRepositories(manager, tenantId));
  }

  #show(row: StoredCluster, repositories: readonly StoredRepository[]): ClusterGitOps {
    const { id: clusterId, name, assignment, revision, wish, report, waitsFor } = row;
    const reportedAt = row.reportedAt?.toISOString() ?? null;
    const health = healthOf(healthInputOf(row), this.runtime.now().getTime(), this.limits);
    const deployKey = showKey(row, repositories);
    return { clusterId, name, assignment, revision, wish, report, reportedAt, health, waitsFor, deployKey };
  }
}

/** Null: nothing is followed, and no key is left to withdraw. */
function showKey(
  { id, deployKeys }: StoredCluster,
  repositories: readonly StoredRepository[],
): ClusterDeployKey | null {
  const { repositoryId, current, next, drops } = deployKeys;
  if (repositoryId === null && drops.length === 0) return null;
  const repository = repositories.find(({ id: known }) => known === repositoryId);
  const left = repositories.filter(({ id: known }) => drops.some((drop) => drop.repositoryId === known));
  const dueMs = nextRotationMs(deployKeys, repository?.rotateKeysSeconds ?? null, id);
  const rotating = next ? (next.why ?? 'demand') : isHeld(deployKeys) ? 'compromise' : null;
  return {
    repository: repository?.name ?? null,
    number: current.number,
    since: timeOf(current.readyAtMs ?? null),
    nextRotationAt: timeOf(dueMs),
    rotating,
    withdrawing: drops.map(({ number }) => number).slice(0, MAX_WITHDRAWING),
    withdrawingFrom: left.map(({ name }) => name).slice(0, MAX_WITHDRAWING),
  };
}

function timeOf(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}

export function healthInputOf({ revision, wish, revisedAt, report, reportedAt }: StoredCluster): HealthInput {
  return {
    revision,
    spec: wish,
    revisedAtMs: revisedAt?.getTime() ?? 0,
    report: report && { ...report, sourceReady: report.source?.ready ?? null },
    reportedAtMs: reportedAt?.getTime() ?? 0,
  };
}
