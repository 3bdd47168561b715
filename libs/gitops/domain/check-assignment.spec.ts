import { Assignment, VERIFIED_BY } from '@fairlead/contracts';
import { Tool } from '@fairlead/desired-state';
import { expect, it } from 'vitest';
import { checkAssignment } from './check-assignment.js';

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
