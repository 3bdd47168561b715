import { writeStatementRevocations } from '@fairlead/access-statement';
import { describe, expect, it } from 'vitest';
import { requiredClusters, revocationList, type Contents } from './revocation-list.js';
import type { Revoked } from './revoked.js';

const now = new Date('2026-11-26T12:00:00.000Z');
const before = (seconds: number): Date => new Date(now.getTime() - seconds * 1_000);
const grant = (seconds: number): Revoked => ({
  kind: 'grant',
  value: crypto.randomUUID(),
  before: before(seconds),
  until: now,
});
const made = (change: Partial<Contents> = {}) =>
  revocationList({
    tenantId: 'default',
    number: 3,
    floor: null,
    required: [],
    revoked: [],
    locked: [],
    now,
    ...change,
  });

describe('the list of a tenant', () => {
  it('says what was revoked and locked, and its number', () => {
    const entry = grant(1);
    const cluster = crypto.randomUUID();
    const { list, raisedTo } = made({ revoked: [entry], locked: [cluster], floor: before(60) });
    expect(raisedTo).toBeNull();
    expect(list).toEqual({
      version: 1,
      tenantId: 'default',
      number: 3,
      issuedAt: now.toISOString(),
      floor: before(60).toISOString(),
      revoked: [{ kind: 'grant', value: entry.value, before: before(1).toISOString() }],
      locked: [cluster],
      required: [],
    });
    expect(made({ locked: [cluster, null] }).list.locked).toBe('all');
  });

  it('always fits, and its floor is over what has no room', () => {
    const revoked = Array.from({ length: 1_000 }, (_, index) => grant(index));
    const locked = Array.from({ length: 300 }, () => crypto.randomUUID());
    const { list, raisedTo } = made({ revoked, locked });
    writeStatementRevocations(list);
    const said = list.revoked.length;
    expect(said).toBeGreaterThan(50);
    expect(list.revoked.map(({ value }) => value)).toEqual(revoked.slice(0, said).map(({ value }) => value));
    expect([raisedTo, list.floor]).toEqual([before(said), before(said).toISOString()]);
    expect(list.locked).toEqual(locked.slice(0, 100));
  });

  it('has a floor that never falls', () => {
    const revoked = Array.from({ length: 1_000 }, (_, index) => grant(5_000 + index));
    expect(made({ revoked, floor: before(1) }).list.floor).toBe(before(1).toISOString());
  });
});

describe('clusters that take nobody without a statement', () => {
  const clusters = (count: number, requireStatements: boolean) =>
    Array.from({ length: count }, () => ({ clusterId: crypto.randomUUID(), requireStatements }));

  it('are named, those alone', () => {
    const some = clusters(3, true);
    const required = requiredClusters([...clusters(2, false), ...some]);
    expect(required).toEqual(some.map(({ clusterId }) => clusterId).toSorted());
    expect(made({ required }).list.required).toEqual(required);
  });

  it('are all, where they are too many to be named, and never those that do not say so', () => {
    expect(made({ required: requiredClusters(clusters(101, true)) }).list.required).toBe('all');
    expect(requiredClusters([...clusters(101, true), ...clusters(1, false)])).toHaveLength(100);
  });

  it('and are too many, are those that were named before, whichever come', () => {
    const some = clusters(150, true);
    const named = some.slice(0, 60).map(({ clusterId }) => clusterId);
    const required = requiredClusters([...some, ...clusters(1, false)], named);
    expect(required).toHaveLength(100);
    expect(named.filter((each) => !required.includes(each))).toEqual([]);
  });

  it('that are missing keep what was said of them, behind those that are there', () => {
    const there = clusters(99, true);
    const [kept = '', ...others] = clusters(3, true).map(({ clusterId }) => clusterId);
    const required = requiredClusters(there, [kept, ...others]);
    expect(required).toHaveLength(100);
    expect(required.at(-1)).toBe(kept);
  });
});
