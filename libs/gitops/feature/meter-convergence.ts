import { messageOf } from '@fairlead/errors';
import { RunLoop } from '@fairlead/loop';
import { Gauge, Histogram, type Registry } from '@fairlead/observability';
import { healthOf, type Health, type HealthLimits } from '../domain/cluster-health.js';
import { healthInputs } from '../store/cluster-store.js';
import { read, type Runtime } from './runtime.js';

const SECONDS = [5, 15, 30, 60, 120, 300, 600, 1_200, 3_600, 14_400];
/** How often clusters are counted. */
const COUNT_MS = 60_000;
const HEALTHS: readonly Health[] = ['unassigned', 'unknown', 'failed', 'drifted', 'healthy', 'progressing'];

/** How long clusters took to be brought to a new desired state: from its signature to the first report that says so. */
export function meterConvergence(registry: Registry): (tookMs: number) => void {
  const seconds = new Histogram({
    name: 'fairlead_gitops_convergence_seconds',
    help: 'From a new desired state of a cluster to the report that says that it was applied as a whole.',
    buckets: SECONDS,
    registers: [registry],
  });
  return (tookMs) => seconds.observe(Math.max(0, tookMs) / 1_000);
}

/** How many clusters are how well, counted each minute. Those that never arrive are in no histogram. */
export function countHealth(runtime: Runtime, limits: HealthLimits, registry: Registry): AsyncDisposable {
  const gauge = new Gauge({
    name: 'fairlead_gitops_clusters',
    help: 'Clusters by the health of their GitOps tool, counted each minute; every replica counts all.',
    labelNames: ['health'],
    registers: [registry],
  });
  return new RunLoop({
    intervalMs: COUNT_MS,
    work: async () => {
      const inputs = await read(runtime, healthInputs);
      const counts = new Map<Health, number>(HEALTHS.map((health) => [health, 0]));
      const nowMs = runtime.now().getTime();
      for (const input of inputs) {
        const health = healthOf(input, nowMs, limits);
        counts.set(health, (counts.get(health) ?? 0) + 1);
      }
      for (const [health, count] of counts) gauge.set({ health }, count);
    },
    // What stands is old then: better nothing than what is not so any more.
    onFailed: (error) => {
      gauge.reset();
      runtime.logger.debug('gitops.clusters_not_counted', { reason: messageOf(error) });
    },
  });
}
