import { expect, it } from 'vitest';
import { effectivePolicy } from './approval-policy.js';

const chosen = { cluster: null, tenant: null, configured: 'token', insecureAllowed: false } as const;

it('is the nearest that was chosen', () => {
  expect(effectivePolicy(chosen)).toBe('token');
  expect(effectivePolicy({ ...chosen, tenant: 'queue' })).toBe('queue');
  expect(effectivePolicy({ ...chosen, tenant: 'queue', cluster: 'always-reject' })).toBe('always-reject');
});

it('rejects where everybody would be approved, unless a flag allows that', () => {
  const insecure = { ...chosen, cluster: 'insecure-always-approve' } as const;
  expect(effectivePolicy(insecure)).toBe('always-reject');
  expect(effectivePolicy({ ...insecure, insecureAllowed: true })).toBe('insecure-always-approve');
  expect(effectivePolicy({ ...chosen, configured: 'insecure-always-approve' })).toBe('always-reject');
});
