import { Assignment } from '@fairlead/contracts';
import { expect, it } from 'vitest';
import { adopt, type SelectedAssignment } from './adopt.js';

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
