import type { Cluster } from '@fairlead/contracts';
import { describe, expect, it } from 'vitest';
import { changedLabels, clusterFilter } from './cluster-labels.js';

describe('the labels of a cluster', () => {
  it('are added, changed and taken away, and the others stay', () => {
    const before = { zone: 'eu', stage: 'test', old: 'x' };
    expect(changedLabels(before, { stage: 'prod', old: null, team: 'a', never: null })).toEqual({
      zone: 'eu',
      stage: 'prod',
      team: 'a',
    });
    expect(changedLabels(before)).toEqual(before);
  });

  it('are 32 at most, whatever was there before', () => {
    const full = Object.fromEntries(Array.from({ length: 32 }, (_, at) => [`l${at}`, '']));
    expect(() => changedLabels(full, { more: '' })).toThrow('at most 32 labels; this would be 33');
    expect(Object.keys(changedLabels(full, { more: '', l0: null }))).toHaveLength(32);
  });
});

describe('a filter of clusters', () => {
  const cluster = { name: 'shop-eu-1', labels: { zone: 'eu' }, presence: { state: 'offline' } } as unknown as Cluster;

  it.each([
    [{}, true],
    [{ selector: 'zone=eu' }, true],
    [{ selector: 'zone!=eu' }, false],
    [{ status: 'offline' }, true],
    [{ status: 'online' }, false],
    [{ name: 'shop-eu-1' }, true],
    [{ name: 'shop' }, false],
    [{ name: 'shop-*' }, true],
    [{ name: '*-eu-*' }, true],
    [{ name: '*shop' }, false],
    [{ name: 'shop-eu-1*' }, true],
    [{ name: 'shop-eu-*-1' }, false],
    [{ name: '*' }, true],
    [{ name: 's**p*1' }, true],
    [{ name: '*eu*eu*' }, false],
    [{ name: 's*1-*' }, false],
    [{ name: 'shop-*', status: 'offline', selector: 'zone' }, true],
    [{ name: 'shop-*', status: 'offline', selector: '!zone' }, false],
  ] as const)('%j: %s', (filter, meant) => {
    expect(clusterFilter(filter)(cluster)).toBe(meant);
  });
});
