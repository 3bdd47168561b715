import { Phase, type InstallerReport, type ObjectEvent } from '@fairlead/desired-state';
import { Counter, Gauge, type Registry } from '@fairlead/observability';

/** What becomes of an installer, as `RunOptions` tells it. */
export interface InstallerMetrics {
  onReport(report: InstallerReport): void;
  onStandby(): void;
  onFailed(): void;
  onStep(step: ObjectEvent['step']): void;
}

const PREFIX = 'fairlead_installer_';

/** Metrics of the installer of one cluster. Labels are bounded: never an object, a repository or a host. */
export function createInstallerMetrics(registry: Registry): InstallerMetrics {
  const registers = [registry];
  const gauge = (name: string, help: string): Gauge => new Gauge({ name: `${PREFIX}${name}`, help, registers });
  const leading = gauge('leading', '1: it holds the Lease and acts. 0: another one does, or nobody yet.');
  const phase = new Gauge({
    name: `${PREFIX}phase`,
    help: '1 for the phase that the cluster is in, 0 for the others; all 0 while another installer acts.',
    labelNames: ['phase'],
    registers,
  });
  const problem = new Gauge({
    name: `${PREFIX}problem`,
    help: '1 for the code of the present problem; there is none otherwise.',
    labelNames: ['code'],
    registers,
  });
  const observed = gauge('observed_revision', 'Newest desired state that was verified; 0: none.');
  const applied = gauge('applied_revision', 'Desired state that the cluster was last brought to as a whole; 0: none.');
  const functional = gauge(
    'functional_answer_timestamp_seconds',
    'When the tool last answered a reconcile request, since the epoch; 0: never since the start.',
  );
  const looks = new Counter({
    name: `${PREFIX}looks_total`,
    help: 'Looks at the cluster, by outcome (ok, or failed: the API server did not answer, or refused what the installer keeps).',
    labelNames: ['outcome'],
    registers,
  });
  const steps = new Counter({
    name: `${PREFIX}steps_total`,
    help: 'Steps of the history that its reports tell: what it did to objects, and what it could not do.',
    labelNames: ['step'],
    registers,
  });
  const inPhase = (present: Phase | null): void => {
    for (const one of Phase.options) phase.set({ phase: one }, one === present ? 1 : 0);
  };
  inPhase(null);
  return {
    onReport: (report) => {
      leading.set(1);
      inPhase(report.phase);
      problem.reset();
      if (report.problem) problem.set({ code: report.problem.code }, 1);
      observed.set(report.observedRevision);
      applied.set(report.appliedRevision);
      functional.set(report.functionalAt === null ? 0 : Date.parse(report.functionalAt) / 1_000);
      looks.inc({ outcome: 'ok' });
    },
    onStandby: () => {
      leading.set(0);
      inPhase(null);
      problem.reset();
    },
    onFailed: () => looks.inc({ outcome: 'failed' }),
    onStep: (step) => steps.inc({ step }),
  };
}
