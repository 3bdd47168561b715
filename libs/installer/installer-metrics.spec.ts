import type { InstallerReport } from '@fairlead/desired-state';
import { Registry } from '@fairlead/observability';
import { expect, it } from 'vitest';
import { createInstallerMetrics } from './installer-metrics.js';

const report: InstallerReport = {
  version: 1,
  clusterId: '6d7f8d3e-8a53-4b6e-9d0a-1f2e3d4c5b6a',
  installerVersion: 'test',
  installerInstance: '6d7f8d3e-8a53-4b6e-9d0a-1f2e3d4c5b6b',
  observedRevision: 8,
  appliedRevision: 7,
  bundleDigest: null,
  wantedBundle: null,
  phase: 'degraded',
  problem: { code: 'NOT_RECONCILING', message: 'no answer', since: '2026-11-22T12:00:00Z' },
  publicKeys: [],
  source: null,
  sync: null,
  functionalAt: '2026-11-22T12:00:00.000Z',
  events: [],
};

it('say how the cluster is, as long as this installer acts', async () => {
  const registry = new Registry();
  const metrics = createInstallerMetrics(registry);
  const shown = async (): Promise<string[]> =>
    (await registry.metrics())
      .split('\n')
      .filter((line) => line.startsWith('fairlead_'))
      .map((line) => line.replace('fairlead_installer_', ''));
  expect(await shown()).toEqual(expect.arrayContaining(['leading 0', 'phase{phase="healthy"} 0']));
  metrics.onReport(report);
  metrics.onStep('restarted');
  metrics.onStep('restarted');
  metrics.onFailed();
  expect(await shown()).toEqual(
    expect.arrayContaining([
      'leading 1',
      'phase{phase="degraded"} 1',
      'phase{phase="healthy"} 0',
      'problem{code="NOT_RECONCILING"} 1',
      'observed_revision 8',
      'applied_revision 7',
      `functional_answer_timestamp_seconds ${Date.parse(report.functionalAt!) / 1_000}`,
      'looks_total{outcome="ok"} 1',
      'looks_total{outcome="failed"} 1',
      'steps_total{step="restarted"} 2',
    ]),
  );
  metrics.onReport({ ...report, phase: 'healthy', problem: null, functionalAt: null });
  expect((await shown()).join('\n')).not.toContain('problem{');
  metrics.onStandby();
  const afterwards = await shown();
  expect(afterwards).toEqual(expect.arrayContaining(['leading 0', 'phase{phase="healthy"} 0']));
});
