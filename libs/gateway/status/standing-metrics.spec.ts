import { Registry } from '@fairlead/observability';
import { expect, it } from 'vitest';
import { meterStanding } from './standing-metrics.js';

function metered(syncedAtMs: number | null, serving: { notAfter: Date } | null) {
  const registry = new Registry();
  const clusters = [1, 2, 0].map((generation, index) => ({ clusterId: `c${index}`, generation }));
  meterStanding({
    registry,
    directory: { clusters: () => clusters.values(), syncedAtMs } as never,
    certificates: {
      identity: { current: { notAfter: new Date(90_000) } },
      serving: { current: serving },
    } as never,
    isLinked: (clusterId) => clusterId === 'c1',
    clock: { nowMs: () => 60_000 },
  });
  return registry.metrics();
}

it('counts clusters that are linked somewhere and those that are not, without those that never enrolled', async () => {
  const text = await metered(55_000, { notAfter: new Date(120_000) });
  expect(text).toContain('fairlead_gateway_clusters{state="linked"} 1');
  expect(text).toContain('fairlead_gateway_clusters{state="unlinked"} 1');
  expect(text).toContain('fairlead_gateway_certificate_expiry_timestamp_seconds{certificate="identity"} 90');
  expect(text).toContain('fairlead_gateway_certificate_expiry_timestamp_seconds{certificate="serving"} 120');
  expect(text).toContain('fairlead_gateway_snapshot_age_seconds 5');
});

it('says nothing of a certificate that is not there', async () => {
  expect(await metered(null, null)).not.toContain('certificate="serving"');
});
