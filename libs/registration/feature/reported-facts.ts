import type { Caller, ClusterFacts } from '@fairlead/contracts';
import { differs } from '../domain/known-facts.js';
import { changeFacts, factsOfClusters, lockCluster } from '../store/cluster-store.js';
import { actorOf, commit, read, tell, type Runtime } from './runtime.js';

/** What agents say of their clusters while they are linked, as gateways pass it on. */
export class ReportedFacts {
  constructor(private readonly runtime: Runtime) {}

  /**
   * Keeps and tells what is new. What is known already costs a read, so that replicas may repeat themselves; what an agent of an
   * enrolment says that was replaced, or of a cluster that is gone, counts for nothing.
   */
  async report(caller: Caller, reports: readonly ClusterFacts[]): Promise<void> {
    const ids = reports.map(({ clusterId }) => clusterId);
    const known = new Map((await read(this.runtime, (manager) => factsOfClusters(manager, ids))).map((c) => [c.id, c]));
    for (const report of reports) {
      const cluster = known.get(report.clusterId);
      if (cluster?.generation !== report.generation || !differs(cluster.facts, report.facts)) continue;
      await this.#change(caller, report);
    }
  }

  async #change(caller: Caller, { clusterId, generation, facts }: ClusterFacts): Promise<void> {
    await commit(this.runtime, async (manager) => {
      // Another replica may have told the same, or the cluster enrolled again, since it was looked at.
      const cluster = await lockCluster(manager, clusterId);
      if (cluster?.generation !== generation || !differs(cluster.facts, facts)) return;
      await changeFacts(manager, clusterId, facts);
      const { tenantId, name } = cluster;
      await tell(this.runtime, manager, 'dev.fairlead.cluster.facts-changed.v1', {
        tenantId,
        clusterId,
        name,
        facts,
        subject: `cluster/${clusterId}`,
        actor: actorOf(caller),
        reason: 'OK',
      });
    });
  }
}
