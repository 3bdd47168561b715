import { expect, it } from 'vitest';
import { narrowingOf, narrowingText } from './narrowing.js';
import { scopeOf, scopeText } from './scope.js';

it('says nothing of what is left out', () => {
  expect(narrowingOf({})).toEqual({});
  expect(narrowingOf({ namespace: ['shop'], verb: ['get'] })).toEqual({ verbs: ['get'], namespaces: ['shop'] });
  expect(narrowingOf({ url: ['/metrics'], apiGroup: [''] })).toEqual({
    apiGroups: [''],
    nonResourceUrls: ['/metrics'],
  });
});

it('is told in words', () => {
  expect(narrowingText({})).toBe('');
  const all = {
    verbs: ['get', 'list'],
    resources: ['pods'],
    apiGroups: ['', 'apps'],
    names: ['a'],
    namespaces: ['shop'],
  };
  expect(narrowingText(all)).toBe('get,list pods of core,apps named a in shop');
  expect(narrowingText({ nonResourceUrls: ['/metrics'] })).toBe('at /metrics');
});

it('is of clusters that have to be said', () => {
  expect(scopeOf({ cluster: ['a', 'b'] })).toEqual({ names: ['a', 'b'] });
  expect(scopeOf({ clusters: 'env=staging' })).toEqual({ selector: 'env=staging' });
  expect(scopeOf({ allClusters: true })).toEqual({ all: true });
  expect(() => scopeOf({})).toThrow('it is not said which clusters');
  expect([scopeText({ names: ['a', 'b'] }), scopeText({ selector: 'x=y' }), scopeText({ all: true })]).toEqual([
    'a, b',
    'x=y',
    'all clusters',
  ]);
});
