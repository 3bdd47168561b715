import { expect, it } from 'vitest';
import { podSelectorOf } from './workloads.js';

const selecting = (selector: unknown): string | null =>
  podSelectorOf({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' }, spec: { selector } });

it('takes labels and expressions', () => {
  const matchExpressions = [
    { key: 'tier', operator: 'In', values: ['a', 'b'] },
    { key: 'old', operator: 'DoesNotExist' },
  ];
  expect(selecting({ matchLabels: { app: 'x' }, matchExpressions })).toBe('app=x,tier in (a,b),!old');
  expect(selecting({ matchLabels: {}, matchExpressions })).toBe('tier in (a,b),!old');
});

it('finds no pods where it would find all of a namespace', () => {
  expect(selecting({ matchLabels: {} })).toBeNull();
  expect(selecting(undefined)).toBeNull();
  expect(selecting({ matchExpressions: [{ key: 'a', operator: 'Near', values: ['b'] }] })).toBeNull();
});
