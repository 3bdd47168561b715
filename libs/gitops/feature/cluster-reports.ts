import type { InstallerReport } from '@fairlead/desired-state';
import { FairleadError } from '@fairlead/errors';
import { highestSeen } from '../domain/next-revision.js';
import { PhaseNews } from '../domain/phase-news.js';
import { lockCluster, updateCluster, type StoredCluster } from '../store/cluster-store.js';
import { appendClusterEvents } from '../store/event-store.js';
import { commit, tell, type Runtime } from './runtime.js';

/** What installers say of their clusters. */
export class ClusterReports {
  readonly #news = new PhaseNews();

  constructor(private readonly runtime: Runtime) {}

  /** NOT_FOUND for a cluster that is not there; INVALID_ARGUMENT for a report of another one than the link's. */
  async take(tenantId: string, clusterId: string, report: InstallerReport): Promise<void> {
    if (report.clusterId !== clusterId) {
      throw new FairleadError('INVALID_ARGUMENT', 'the report is of another cluster than the one it came from');
    }
    const tookMs = await commit(this.runtime, async (manager) => {
      const cluster = await lockCluster(manager, clusterId);
      if (cluster?.tenantId !== tenantId) throw new FairleadError('NOT_FOUND', `there is no cluster ${clusterId}`);
      const { events, ...rest } = report;
      const now = this.runtime.now();
      const problemCode = report.problem?.code ?? null;
      const since = problemCode === cluster.problemCode ? cluster.problemSince : now;
      await updateCluster(manager, clusterId, {
        report: rest,
        reportedAt: now,
        phase: report.phase,
        problemCode,
        problemSince: problemCode === null ? null : since,
        ...(concernsDesiredState(cluster, report) ? { dueAt: now, touched: cluster.touched + 1 } : {}),
      });
      await appendClusterEvents(manager, clusterId, report.installerInstance, events);
      const converged = convergedIn(cluster, report, now);
      if (!this.#news.isToBeTold(clusterId, cluster.phase, report.phase, now.getTime())) return converged;
      const actor = { kind: 'agent', id: clusterId } as const;
      const about = { tenantId, subject: `cluster/${clusterId}`, actor, reason: 'OK' };
      const data = { ...about, clusterId, name: cluster.name, phase: report.phase, problem: problemCode };
      await tell(this.runtime, manager, 'dev.fairlead.gitops.phase-changed.v1', data);
      return converged;
    });
    if (tookMs !== null) this.runtime.onConverged?.(tookMs);
  }
}

/** How long ago the newest revision was signed, if this is the first report that says that it was applied; null otherwise. */
export function convergedIn(
  { revision, revisedAt, report: before }: Pick<StoredCluster, 'revision' | 'revisedAt' | 'report'>,
  { appliedRevision }: Pick<InstallerReport, 'appliedRevision'>,
  now: Date,
): number | null {
  const isFirst = appliedRevision === revision && (before?.appliedRevision ?? 0) < revision;
  return isFirst && revisedAt ? now.getTime() - revisedAt.getTime() : null;
}

/** Keys that were made or tried, a revision that was applied while keys wait for it, or one that nobody here remembers. */
function concernsDesiredState(cluster: StoredCluster, report: InstallerReport): boolean {
  const before = cluster.report;
  return (
    isAhead(cluster.revision, report.observedRevision, before?.observedRevision ?? 0) ||
    JSON.stringify(keysOf(before)) !== JSON.stringify(keysOf(report)) ||
    (cluster.deployKeys.drops.length > 0 && before?.appliedRevision !== report.appliedRevision)
  );
}

/** One that is not believed is told once, not with each report. */
function isAhead(revision: number, observed: number, before: number): boolean {
  return highestSeen(revision, observed) > revision || (observed !== before && observed > revision);
}

function keysOf(report: Pick<InstallerReport, 'publicKeys'> | null): unknown[] {
  return (report?.publicKeys ?? []).map(({ number, publicKey, works }) => [number, publicKey, works]);
}
