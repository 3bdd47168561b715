import type { KubeObject } from '@fairlead/kube/rest';
import { describe, expect, it } from 'vitest';
import { gaveUp, isUnverified, statesOf } from './application-state.js';

const AT = '2026-11-22T12:00:00.000Z';
const REVISION = 'a'.repeat(40);
const OLDER = 'b'.repeat(40);
const source = { repoURL: 'ssh://git@h/fleet/demo.git', path: 'demo', targetRevision: 'main' };
const application = (status: Record<string, unknown>): KubeObject => ({
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'Application',
  metadata: { name: 'fairlead-catalog', namespace: 'argocd' },
  spec: { source, project: 'fairlead-catalog' },
  status,
});
const compared = (status: string, revision = REVISION) => ({ status, revision, comparedTo: { source } });
const operation = (phase: string, revision = REVISION, more = {}) => ({
  phase,
  message: 'said',
  syncResult: { revision },
  ...more,
});
const readyOf = (status: Record<string, unknown>) => {
  const states = statesOf(application(status), AT);
  return [states?.source.ready, states?.sync.ready];
};
const error = (message: string) => ({
  conditions: [{ type: 'ComparisonError', message }],
  sync: compared('Unknown'),
  operationState: operation('Succeeded', OLDER),
});
const FAILED = 'Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = ';

describe('an Application', () => {
  it('that there is not, or that nobody looked at, says nothing', () => {
    expect(statesOf(null, AT)).toBeNull();
    expect(readyOf({})).toEqual([null, null]);
    const others = { ...source, targetRevision: 'other' };
    expect(readyOf({ sync: { ...compared('Synced'), comparedTo: { source: others } } })[0]).toBeNull();
  });

  it('that is synced follows its revision', () => {
    const states = statesOf(application({ sync: compared('Synced'), operationState: operation('Succeeded') }), AT);
    expect(states?.source).toMatchObject({ ready: true, revision: `main@sha1:${REVISION}` });
    expect(states?.sync).toMatchObject({ ready: true, revision: `main@sha1:${REVISION}` });
  });

  it.each([
    ['is being applied', { sync: compared('OutOfSync'), operationState: operation('Running') }, null],
    ['is about to be applied', { sync: compared('OutOfSync'), operationState: operation('Succeeded', OLDER) }, null],
    [
      'was applied, and something differs that is left',
      { sync: compared('OutOfSync'), operationState: operation('Succeeded') },
      true,
    ],
    ['was refused', { sync: compared('OutOfSync'), operationState: operation('Failed') }, false],
    [
      'is refused again and again',
      { sync: compared('OutOfSync'), operationState: operation('Running', REVISION, { retryCount: 2 }) },
      false,
    ],
    [
      'would delete everything',
      { sync: compared('OutOfSync'), conditions: [{ type: 'SyncError', message: 'will wipe out all' }] },
      false,
    ],
    [
      'is not what its project lets it',
      { conditions: [{ type: 'InvalidSpecError', message: 'not permitted' }], sync: compared('Unknown') },
      false,
    ],
  ])('whose commit %s', (_what, status, ready) => {
    expect(readyOf(status)[1]).toBe(ready);
  });

  it.each([
    ['Unknown desc = failed to list refs: ssh: handshake failed: knownhosts: key mismatch', false],
    ['Internal desc = Failed to fetch default: `git fetch origin` failed exit status 128', false],
    ["Unknown desc = unable to resolve 'main' to a commit SHA", false],
    ['DeadlineExceeded desc = context deadline exceeded', false],
    // That is no word of the repository.
    ['Unavailable desc = connection error: dial tcp 10.0.0.1:8081: connect: connection refused', null],
  ])('that cannot fetch keeps what it deployed: %s', (said, ready) => {
    expect(readyOf(error(FAILED + said))).toEqual([ready, true]);
  });

  it('is tried again a minute after it was given up', () => {
    const finishedAt = '2026-11-22T11:59:00Z';
    const status = { sync: compared('OutOfSync'), operationState: operation('Failed', REVISION, { finishedAt }) };
    const nowMs = Date.parse(AT);
    expect(gaveUp(application(status), nowMs)).toBe(true);
    expect(gaveUp(application(status), nowMs - 1)).toBe(false);
    expect(gaveUp({ ...application(status), operation: {} }, nowMs)).toBe(false);
    expect(gaveUp(application({ ...status, sync: compared('Unknown') }), nowMs)).toBe(false);
    expect(gaveUp(application({ ...status, operationState: operation('Succeeded') }), nowMs)).toBe(false);
  });

  it.each([
    'Unknown desc = clusters/demo: app path does not exist',
    'Unknown desc = `kustomize build` failed: no signature of it',
  ])('that fetched what cannot be built: %s', (said) => {
    expect(readyOf(error(FAILED + said))).toEqual([true, false]);
  });

  it.each([
    `Target revision ${REVISION} in Git is not signed, but a signature is required`,
    'Found good signature made with RSA key 0296D27F832F68B6, but this key is not allowed in AppProject',
    `Could not verify commit signature on revision '${REVISION}', check logs for more information.`,
  ])('that turns a commit down: %s', (said) => {
    const states = statesOf(application(error(said)), AT);
    expect([states?.source.ready, states?.sync.ready]).toEqual([false, true]);
    expect(states && isUnverified(states.source)).toBe(true);
  });
});
