import type { SourceState } from '@fairlead/desired-state';
import { expect, it } from 'vitest';
import { complaintOf as told } from './complaint.js';

const complaintOf = (source: SourceState | null, sync: SourceState | null) =>
  told(source, sync, ({ reason }) => reason === 'InvalidCommitSignature');

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

/** As the repo-server of Argo CD 3.1 says it, by its own client and by ssh(1). */
const LIST = 'rpc error: code = Unknown desc = failed to list refs: ';
const GIT = 'rpc error: code = Internal desc = Failed to fetch default: `git fetch origin` failed exit status 128: ';
const LAST = '\nfatal: Could not read from remote repository.';
it.each([
  ['SOURCE_HOST_KEY', `${LIST}ssh: handshake failed: knownhosts: key mismatch`],
  ['SOURCE_HOST_KEY', `${GIT}Host key verification failed.${LAST}`],
  [
    'SOURCE_KEY_REFUSED',
    `${LIST}ssh: handshake failed: ssh: unable to authenticate, attempted methods [none publickey]`,
  ],
  ['SOURCE_KEY_REFUSED', `${GIT}git@h: Permission denied (publickey).${LAST}`],
  ['SOURCE_KEY_REFUSED', `${LIST}repository not found`],
  ['SOURCE_UNREACHABLE', `${GIT}ssh: connect to host h port 22: Connection refused${LAST}`],
  ['SOURCE_UNREACHABLE', `${GIT}ssh: Could not resolve hostname h: Name or service not known${LAST}`],
  ['SOURCE_UNREACHABLE', `${LIST}dial tcp 127.0.0.1:22: connect: connection refused`],
  ['SOURCE_UNREACHABLE', 'rpc error: code = DeadlineExceeded desc = context deadline exceeded'],
  ['SOURCE_FAILED', "rpc error: code = Unknown desc = unable to resolve 'main' to a commit SHA"],
])('tells %s from what Argo CD says', (code, message) => {
  expect(complaintOf(state(false, message, 'ComparisonError'), well)?.code).toBe(code);
});

it('tells a commit that is not signed as demanded, and what cannot be applied', () => {
  expect(complaintOf(state(false, 'no signature', 'InvalidCommitSignature'), well)?.code).toBe('SOURCE_UNVERIFIED');
  expect(complaintOf(well, state(false, 'kustomization path not found', 'ArtifactFailed'))?.code).toBe('SYNC_FAILED');
  expect(complaintOf(well, well)).toBeNull();
  expect(complaintOf(state(null), null)).toBeNull();
  expect(complaintOf(null, null)).toBeNull();
});
