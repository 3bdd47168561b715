import type { Caller, LastError, LinkProblem } from '@fairlead/contracts';
import { recordProblem } from '../store/cluster-store.js';
import { read, type Runtime } from './runtime.js';

/** What went wrong last with each cluster's link: one row's worth of each, however often it happens. */
export class LinkProblems {
  constructor(private readonly runtime: Runtime) {}

  /** What a gateway saw. An older one than is known is dropped, and so is one of a cluster that is gone. */
  async report(caller: Caller, problems: readonly LinkProblem[]): Promise<void> {
    const nowMs = this.runtime.now().getTime();
    await read(this.runtime, async (manager) => {
      for (const { clusterId, ...problem } of problems) {
        // One of the future would hide all that comes until then.
        const at = new Date(Math.min(Date.parse(problem.at), nowMs)).toISOString();
        await recordProblem(manager, clusterId, { ...problem, at, replica: caller.credential });
      }
    });
  }

  /** What this service refused. Never rejects: the refusal stands, whether or not it could be recorded. */
  async refused(clusterId: string, refusal: Omit<LastError, 'at' | 'replica'>): Promise<void> {
    const at = this.runtime.now().toISOString();
    const problem = { ...refusal, reason: refusal.reason.slice(0, 256), at, replica: '' };
    await read(this.runtime, (manager) => recordProblem(manager, clusterId, problem)).catch((err: unknown) => {
      this.runtime.logger.warn('link_problem.not_recorded', { clusterId, code: refusal.code, err });
    });
  }
}
