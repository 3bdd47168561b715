import { describe, expect, it } from 'vitest';
import { Assignment } from '@fairlead/contracts';
import { selectAssignment, adopt, type SelectedAssignment } from './select-assignment.js';

const demo = { name: 'demo', labels: { env: 'prod', tier: 'a' } };
const byLabels = (name: string, labels: Record<string, string>, priority = 100) => ({
  name,
  selector: { labels },
  priority,
});

describe('the assignment of a cluster', () => {
  it('is one that selects it by its name or by all labels', () => {
    const others = [byLabels('x', { env: 'dev' }), { name: 'y', selector: { cluster: 'other' }, priority: 1_000 }];
    expect(selectAssignment(others, demo)).toBeUndefined();
    expect(selectAssignment([...others, byLabels('z', { env: 'prod' })], demo)?.name).toBe('z');
    expect(selectAssignment([byLabels('x', { env: 'prod', tier: 'b' })], demo)).toBeUndefined();
  });

  it('is the one with the highest priority, then the more exact one, then the first by name', () => {
    const named = { name: 'named', selector: { cluster: 'demo' }, priority: 100 };
    const wide = byLabels('wide', { env: 'prod' });
    const narrow = byLabels('narrow', { env: 'prod', tier: 'a' });
    expect(selectAssignment([wide, narrow], demo)?.name).toBe('narrow');
    expect(selectAssignment([wide, narrow, named], demo)?.name).toBe('named');
    expect(selectAssignment([named, byLabels('first', { env: 'prod' }, 101)], demo)?.name).toBe('first');
    expect(selectAssignment([byLabels('b', { env: 'prod' }), byLabels('a', { tier: 'a' })], demo)?.name).toBe('a');
  });
});

const spec = (name: string): Assignment =>
  Assignment.parse({ name, selector: { cluster: 'demo' }, tool: 'flux', bundleVersion: 'v1', repository: null });
const selected: SelectedAssignment = { name: 'a', stable: spec('a'), stableVersion: 2, rollingOut: false };

it('follows what its assignment was last brought to, and nothing without one', () => {
  expect(adopt(null, selected)).toEqual({ version: 2, spec: spec('a') });
  expect(adopt({ version: 1, spec: spec('a') }, selected)).toEqual({ version: 2, spec: spec('a') });
  expect(adopt({ version: 5, spec: spec('b') }, selected)).toEqual({ version: 2, spec: spec('a') });
  expect(adopt({ version: 2, spec: spec('a') }, undefined)).toBeNull();
});

it('keeps what a rollout gave it, or did not give it yet', () => {
  const newer = { version: 3, spec: spec('a') };
  const other = { version: 5, spec: spec('b') };
  expect(adopt(newer, selected)).toBe(newer);
  expect(adopt(other, { ...selected, rollingOut: true })).toBe(other);
  expect(adopt(null, { ...selected, rollingOut: true })).toBeNull();
  expect(adopt(other, { ...selected, stable: null, stableVersion: 0 })).toBe(other);
});
