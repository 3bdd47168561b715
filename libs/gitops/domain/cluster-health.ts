import type { ClusterGitOps } from '@fairlead/contracts';
import type { GitOpsSpec, Phase } from '@fairlead/desired-state';

export interface HealthInput {
  /** Of the newest desired state; 0: none. */
  readonly revision: number;
  readonly spec: GitOpsSpec | null;
  readonly revisedAtMs: number;
  readonly report: ReportedHealth | null;
  readonly reportedAtMs: number;
}

export interface ReportedHealth {
  readonly phase: Phase;
  readonly observedRevision: number;
  readonly appliedRevision: number;
  /** Does the tool fetch? */
  readonly sourceReady: boolean | null;
}

export interface HealthLimits {
  /** Nothing heard for so long: nobody knows. */
  readonly silenceMs: number;
  /** A new revision may take so long. */
  readonly graceMs: number;
}

export type Health = ClusterGitOps['health'];

/** What is known of a cluster's tool at `nowMs`. */
export function healthOf(input: HealthInput, nowMs: number, { silenceMs, graceMs }: HealthLimits): Health {
  const { spec, report, revision } = input;
  if (!spec) return 'unassigned';
  if (!report || nowMs - input.reportedAtMs > silenceMs) return 'unknown';
  if (report.phase === 'escalated') return 'failed';
  if (report.phase === 'degraded') return 'drifted';
  if (isHealthy(spec, revision, report)) return 'healthy';
  return nowMs - input.revisedAtMs <= graceMs || isWorking(report.phase) ? 'progressing' : 'drifted';
}

/** Does it work, as this revision wants it? */
export function isHealthy(spec: GitOpsSpec, revision: number, report: ReportedHealth): boolean {
  if (report.phase !== 'healthy' || report.appliedRevision < revision) return false;
  return spec.source === null || spec.suspend || report.sourceReady !== false;
}

function isWorking(phase: Phase): boolean {
  return phase === 'installing' || phase === 'repairing' || phase === 'waiting' || phase === 'removing';
}
