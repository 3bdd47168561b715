import { Assignment, VERIFIED_BY } from '@fairlead/contracts';
import { Tool } from '@fairlead/desired-state';
import { expect, it } from 'vitest';
import { checkAssignment, expectRevision, revisionOf } from './check-assignment.js';

const spec = Assignment.parse({
  name: 'shop',
  selector: { cluster: 'demo' },
  tool: 'flux',
  bundleVersion: 'v1',
  repository: 'catalog',
});
const keys = [{ name: 'alice', publicKey: `ssh-ed25519 ${'A'.repeat(68)}` }];
const bySsh: Assignment = { ...spec, verification: { type: 'ssh', keys } };

it.each(Tool.options)('%s may be asked to verify what it can verify only', (tool) => {
  expect(VERIFIED_BY[tool]).toContain('gpg');
  checkAssignment({ ...spec, tool, verification: { type: 'gpg', keys } }, undefined);
  expect(() => checkAssignment({ ...bySsh, tool }, undefined)).toThrow('OpenPGP');
});

it('leaves what it took earlier, and refuses it anew', () => {
  checkAssignment({ ...bySsh, suspend: true }, bySsh);
  checkAssignment(spec, bySsh);
  expect(() => checkAssignment(bySsh, spec)).toThrow('verifies no SSH signatures');
  const other: Assignment = { ...spec, verification: { type: 'ssh', keys: [{ name: 'bob', publicKey: 'x' }] } };
  expect(() => checkAssignment(other, bySsh)).toThrow('verifies no SSH signatures');
  expect(() => checkAssignment({ ...bySsh, tool: 'argocd' }, bySsh)).toThrow('argocd verifies no SSH');
});

it('refuses a path that is not below the root, and what fits into no desired state', () => {
  expect(() => checkAssignment({ ...spec, path: '../x' }, undefined)).toThrow('path');
  const large = Array.from({ length: 4 }, (_, at) => ({ name: `key-${at}`, publicKey: 'x'.repeat(8_000) }));
  expect(() => checkAssignment({ ...spec, verification: { type: 'gpg', keys: large } }, undefined)).toThrow('24000');
});

const labelled: Assignment = { ...spec, selector: { labels: { stage: 'prod', zone: 'eu' } } };

it('has a revision that is the same for the same, however its fields are ordered', () => {
  const { name, selector: _selector, ...rest } = labelled;
  const kept = { ...rest, selector: { labels: { zone: 'eu', stage: 'prod' } }, branch: undefined, name };
  expect(revisionOf(kept)).toBe(revisionOf(labelled));
  expect(revisionOf(labelled)).toMatch(/^[0-9a-f]{32}$/);
});

it.each<Partial<Assignment>>([
  { suspend: true },
  { rollout: { ...spec.rollout, waves: [...spec.rollout.waves].toReversed() } },
  { selector: { labels: { stage: 'prod' } } },
])('has another revision for anything else: %j', (change) => {
  expect(revisionOf({ ...spec, ...change })).not.toBe(revisionOf(labelled));
});

it('has its revision compared only if somebody expects one', () => {
  const other = revisionOf({ ...spec, suspend: true });
  for (const held of [labelled, undefined]) expectRevision('shop', held, undefined);
  expectRevision('shop', labelled, revisionOf(labelled));
  expectRevision('shop', undefined, null);
  expect(() => expectRevision('shop', labelled, other)).toThrow('somebody changed the assignment shop meanwhile');
  expect(() => expectRevision('shop', labelled, null)).toThrow('somebody made the assignment');
  expect(() => expectRevision('shop', undefined, other)).toThrow('somebody removed the assignment');
});
