import { expect, it } from 'vitest';
import { complaintOf } from './complaint.js';

const state = (ready: boolean | null, message = '', reason = 'GitOperationFailed') => ({
  ready,
  reason,
  message,
  revision: '',
  at: '2026-11-22T12:00:00.000Z',
});
const well = state(true);

/** As source-controller 1.3 says it. */
const FETCH = 'failed to checkout and determine revision: unable to clone ';
it.each([
  ['SOURCE_HOST_KEY', `${FETCH}'ssh://git@h/a.git': ssh: handshake failed: knownhosts: key mismatch`],
  ['SOURCE_HOST_KEY', `${FETCH}'ssh://git@h/a.git': ssh: handshake failed: knownhosts: key is unknown`],
  ['SOURCE_KEY_REFUSED', `${FETCH}'ssh://git@h/a.git': ssh: handshake failed: ssh: unable to authenticate`],
  ['SOURCE_UNREACHABLE', `${FETCH}'ssh://git@h/a.git': dial tcp 127.0.0.1:22: connect: connection refused`],
  ['SOURCE_UNREACHABLE', `${FETCH}'ssh://git@h/a.git': context deadline exceeded`],
  ['SOURCE_FAILED', `${FETCH}'ssh://git@h/a.git': couldn't find remote ref "refs/heads/main"`],
])('tells %s from what Flux says', (code, message) => {
  expect(complaintOf(state(false, message), well)?.code).toBe(code);
});

it('tells a commit that is not signed as demanded, and what cannot be applied', () => {
  expect(complaintOf(state(false, 'no signature', 'InvalidCommitSignature'), well)?.code).toBe('SOURCE_UNVERIFIED');
  expect(complaintOf(well, state(false, 'kustomization path not found', 'ArtifactFailed'))?.code).toBe('SYNC_FAILED');
  expect(complaintOf(well, well)).toBeNull();
  expect(complaintOf(state(null), null)).toBeNull();
  expect(complaintOf(null, null)).toBeNull();
});
