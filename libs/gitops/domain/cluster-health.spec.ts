import type { GitOpsSpec } from '@fairlead/desired-state';
import { expect, it } from 'vitest';
import { healthOf, type Health, type ReportedHealth } from './cluster-health.js';

const limits = { silenceMs: 300_000, graceMs: 600_000 };
const spec = { source: {}, suspend: false } as GitOpsSpec;
const good: ReportedHealth = { phase: 'healthy', observedRevision: 3, appliedRevision: 3, sourceReady: true };
const minutes = (count: number): number => count * 60_000;

interface Circumstances {
  readonly reportedAgoMs: number;
  readonly revisedAgoMs: number;
  readonly wanted: GitOpsSpec | null;
}

/** At `nowMs` 1 hour, with a report of this moment about a revision of half an hour ago. */
const health = (
  report: Partial<ReportedHealth> | null,
  { reportedAgoMs = 0, revisedAgoMs = minutes(30), wanted = spec }: Partial<Circumstances> = {},
): Health => {
  const nowMs = minutes(60);
  const times = { revisedAtMs: nowMs - revisedAgoMs, reportedAtMs: nowMs - reportedAgoMs };
  return healthOf({ revision: 3, spec: wanted, report: report && { ...good, ...report }, ...times }, nowMs, limits);
};

it('of a cluster that has nothing to do, or says nothing', () => {
  expect(health(good, { wanted: null })).toBe('unassigned');
  expect(health(null)).toBe('unknown');
  expect(health(good, { reportedAgoMs: minutes(6) })).toBe('unknown');
});

it('of a cluster that is as it should be', () => {
  expect(health(good)).toBe('healthy');
  expect(health({ sourceReady: null })).toBe('healthy');
  expect(health({ sourceReady: false }, { wanted: { ...spec, suspend: true } })).toBe('healthy');
});

it('of a cluster that is not', () => {
  expect(health({ phase: 'escalated' })).toBe('failed');
  expect(health({ phase: 'degraded' })).toBe('drifted');
  expect(health({ sourceReady: false })).toBe('drifted');
  expect(health({ appliedRevision: 2 })).toBe('drifted');
});

it('of a cluster that is on its way', () => {
  expect(health({ appliedRevision: 2 }, { revisedAgoMs: minutes(1) })).toBe('progressing');
  expect(health({ phase: 'installing', appliedRevision: 2 })).toBe('progressing');
  expect(health({ phase: 'repairing' })).toBe('progressing');
});
