import { randomUUID } from 'node:crypto';
import { grantsKeys, type ClusterEntry, type GrantEntry, type Subject } from '@fairlead/contracts';
import { beforeEach, describe, expect, it } from 'vitest';
import { GrantsIndex, type Proven } from './grants-index.js';

const T0 = Date.parse('2026-01-01T00:00:00Z');
const at = (seconds: number): string => new Date(T0 + seconds * 1_000).toISOString();
const alice: Proven = { tenantId: 't', kind: 'login', user: 'corp:alice', subjectGroups: ['corp:dev'] };
const ALICE: Subject = { kind: 'user', name: 'corp:alice' };
const DEV: Subject = { kind: 'group', name: 'corp:dev' };
const cluster = (name: string, labels = {}): ClusterEntry => {
  return { tenantId: 't', clusterId: `id-${name}`, name, generation: 1, labels };
};
const shop = cluster('shop', { stage: 'test' });

let index: GrantsIndex;
beforeEach(() => (index = new GrantsIndex()));

function grant(group: string, given: Partial<GrantEntry> = {}): GrantEntry {
  const rule = { grantId: randomUUID(), effect: 'allow' as const, groups: [group], narrowing: {} };
  return { rule, clusters: { all: true }, notBefore: null, expiresAt: null, ...given };
}

function put(subject: Subject, ...grants: GrantEntry[]): void {
  index.set(grantsKeys.subject('t', subject), { kind: 'subject', tenantId: 't', subject, grants });
}

function groupsOf(who = alice, where = shop, seconds = 0): string[] {
  return index.rulesOf(who, where, T0 + seconds * 1_000).allow.flatMap(({ groups }) => groups);
}

describe('the rules of somebody in a cluster', () => {
  it('are those of their own name and of their groups, of their tenant', () => {
    put(ALICE, grant('own'));
    put(DEV, grant('of the group'));
    put({ kind: 'token', name: 'corp:alice' }, grant('of a token'));
    put({ kind: 'user', name: 'corp:dev' }, grant('of another user'));
    expect(groupsOf()).toEqual(['own', 'of the group']);
    expect(groupsOf({ ...alice, tenantId: 'u' })).toEqual([]);
    expect(groupsOf({ ...alice, subjectGroups: [] })).toEqual(['own']);
    expect(groupsOf({ ...alice, kind: 'administrator' })).toEqual([]);
  });

  it('are those that mean the cluster, by name, label or all', () => {
    put(ALICE, grant('all'), grant('named', { clusters: { names: ['shop'] } }));
    put(DEV, grant('labelled', { clusters: { selector: 'stage=test' } }));
    expect(groupsOf()).toEqual(['all', 'named', 'labelled']);
    expect(groupsOf(alice, cluster('blog', { stage: 'test' }))).toEqual(['all', 'labelled']);
    expect(groupsOf(alice, cluster('bank'))).toEqual(['all']);
  });

  it('change with the grants, the labels, and whoever asks', () => {
    put(ALICE, grant('first', { clusters: { selector: 'stage=test' } }));
    expect(groupsOf()).toEqual(['first']);
    expect(groupsOf(alice, { ...shop, labels: { stage: 'production' } })).toEqual([]);
    expect(groupsOf()).toEqual(['first']);
    put(ALICE, grant('second'));
    expect(groupsOf()).toEqual(['second']);
    put(DEV, grant('third'));
    expect(groupsOf()).toEqual(['second', 'third']);
    expect(groupsOf({ ...alice, subjectGroups: [] })).toEqual(['second']);
    index.set(grantsKeys.subject('t', ALICE), undefined);
    expect(groupsOf()).toEqual(['third']);
  });

  it('are none while something about them cannot be read: it may deny', () => {
    put(ALICE, grant('own'));
    expect(groupsOf()).toEqual(['own']);
    index.setUnread(grantsKeys.subject('t', DEV));
    expect(groupsOf()).toEqual([]);
    expect(groupsOf({ ...alice, subjectGroups: [] })).toEqual(['own']);
    put(DEV, grant('of the group'));
    expect(groupsOf()).toEqual(['own', 'of the group']);
    index.setUnread(grantsKeys.subject('t', ALICE));
    index.set(grantsKeys.subject('t', ALICE), undefined);
    expect(groupsOf()).toEqual(['of the group']);
  });

  it('begin and end by the clock, and by nothing else', () => {
    put(ALICE, grant('x', { notBefore: at(10), expiresAt: at(20) }), grant('y', { expiresAt: at(15) }));
    const seen = [0, 9.999, 10, 14.999, 15, 19.999, 20].map((seconds) => groupsOf(alice, shop, seconds).join());
    expect(seen).toEqual(['y', 'y', 'x,y', 'x,y', 'x', 'x', '']);
    // A clock that was put back.
    expect(groupsOf(alice, shop, 12)).toEqual(['x', 'y']);
    expect(index.rulesAt(alice, shop, T0).allow.flatMap(({ groups }) => groups)).toEqual(['y']);
  });

  it('are worked out once for as long as they are the same', () => {
    put(ALICE, grant('x', { expiresAt: at(10) }));
    const rules = index.rulesOf(alice, shop, T0);
    put({ kind: 'user', name: 'bob' }, grant('y'));
    expect(index.rulesOf(alice, shop, T0 + 9_999)).toBe(rules);
    expect(index.rulesOf(alice, shop, T0 + 10_000)).not.toBe(rules);
  });
});

describe('a lockdown', () => {
  it('is of one cluster, or of a tenant, until it is lifted', () => {
    const lock = (clusterId: string | null, reason: string): void =>
      index.set(grantsKeys.lockdown('t', clusterId), { kind: 'lockdown', tenantId: 't', clusterId, reason });
    lock(shop.clusterId, 'an incident');
    expect(index.lockdownOf(shop)).toBe('an incident');
    expect(index.lockdownOf(cluster('blog'))).toBeUndefined();
    lock(null, 'a large one');
    expect(index.lockdownOf(shop)).toBe('a large one');
    expect(index.lockdownOf(cluster('blog'))).toBe('a large one');
    expect(index.lockdownOf({ ...shop, tenantId: 'u' })).toBeUndefined();
    index.set(grantsKeys.lockdown('t', null), undefined);
    expect(index.lockdownOf(cluster('blog'))).toBeUndefined();
    expect(index.lockdownOf(shop)).toBe('an incident');
    index.setUnread(grantsKeys.lockdown('t', cluster('blog').clusterId));
    expect(index.lockdownOf(cluster('blog'))).toContain('cannot be read');
    index.set(grantsKeys.lockdown('t', cluster('blog').clusterId), undefined);
    expect(index.lockdownOf(cluster('blog'))).toBeUndefined();
  });
});
