import { expect, it } from 'vitest';
import { convergedIn } from './cluster-reports.js';

const now = new Date(100_000);
const cluster = (before: number | null) => ({
  revision: 7,
  revisedAt: new Date(40_000),
  report: before === null ? null : ({ appliedRevision: before } as never),
});

it('tells how long a cluster took to a new desired state, once', () => {
  expect(convergedIn(cluster(6), { appliedRevision: 7 }, now)).toBe(60_000);
  expect(convergedIn(cluster(null), { appliedRevision: 7 }, now)).toBe(60_000);
  expect(convergedIn(cluster(7), { appliedRevision: 7 }, now)).toBeNull();
});

it('tells nothing of an older revision, nor of one that nobody signed', () => {
  expect(convergedIn(cluster(5), { appliedRevision: 6 }, now)).toBeNull();
  expect(convergedIn({ ...cluster(6), revisedAt: null }, { appliedRevision: 7 }, now)).toBeNull();
});
