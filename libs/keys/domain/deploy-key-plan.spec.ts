import type { DeployKey } from '@fairlead/git-hosts';
import { expect, it } from 'vitest';
import { planKeys, type DeployKeyState, type PlannedKey } from './deploy-key-plan.js';

const now = new Date('2026-01-01T12:00:00Z');

const wanted = (state: DeployKeyState, changes: Partial<PlannedKey> = {}): PlannedKey => ({
  id: 'row',
  fingerprint: 'SHA256:a',
  state,
  stateSince: now,
  remoteId: null,
  ...changes,
});
const onHost = (changes: Partial<DeployKey> = {}): DeployKey => ({
  id: '7',
  title: 'fairlead:here:demo',
  publicKey: 'ssh-ed25519 AAAA',
  fingerprint: 'SHA256:a',
  readOnly: true,
  enabled: true,
  ours: true,
  ...changes,
});
const plan = (key: PlannedKey, listed: DeployKey[], others: PlannedKey[] = []): string[] =>
  planKeys([key, ...others], listed, now)
    .filter((step) => step.key === key)
    .map((step) => {
      if (step.do === 'add') return `add${step.restores ? ' again' : ''}`;
      if (step.do === 'note-refused') return `refused ${step.code}`;
      if (step.do === 'note-removed' && step.stays) return 'note-removed, it stays';
      return 'remoteId' in step ? `${step.do} ${step.remoteId}` : step.do;
    });

it.each<[string, PlannedKey, DeployKey[], string[]]>([
  ['adds what is wanted', wanted('wanted'), [], ['add']],
  ['puts back what is gone', wanted('present', { remoteId: '7' }), [], ['add again']],
  ['puts back what somebody else had added', wanted('present'), [], ['add again']],
  ['knows its own key', wanted('wanted'), [onHost()], ['note-present 7']],
  ["takes somebody else's key for present", wanted('wanted'), [onHost({ ours: false })], ['note-present null']],
  ['wants none that may write', wanted('present'), [onHost({ readOnly: false })], ['refused CONFLICT']],
  ['tells of one that does not work', wanted('present'), [onHost({ enabled: false })], ['refused GIT_KEY_DISABLED']],
  ['offers a refused key again after a while', wanted('refused', { stateSince: new Date(0) }), [], ['add']],
  ['and not before', wanted('refused'), [], []],
  ['removes what it added', wanted('removing', { remoteId: '7' }), [onHost()], ['remove 7']],
  ['removes what it added and did not record', wanted('removing'), [onHost()], ['remove 7']],
  ['is content when it is gone', wanted('removing', { remoteId: '7' }), [], ['note-removed']],
  ["leaves somebody else's key", wanted('removing'), [onHost({ ours: false })], ['note-removed, it stays']],
  [
    'leaves a key that took the number',
    wanted('removing', { remoteId: '7' }),
    [onHost({ fingerprint: 'SHA256:b' })],
    ['note-removed'],
  ],
  ['does nothing more about a removed one', wanted('removed', { remoteId: '7' }), [onHost()], []],
])('%s', (_, key, listed, steps) => {
  expect(plan(key, listed)).toEqual(steps);
});

it('leaves a key that another row wants', () => {
  const removing = wanted('removing', { remoteId: '7' });
  expect(plan(removing, [onHost()], [wanted('present', { id: 'other' })])).toEqual(['note-removed']);
  expect(plan(removing, [onHost()], [wanted('removing', { id: 'other' })])).toEqual(['remove 7']);
});

it('removes before it adds', () => {
  const add = wanted('wanted', { id: 'new', fingerprint: 'SHA256:b' });
  const steps = planKeys([add, wanted('removing', { remoteId: '7' })], [onHost()], now);
  expect(steps.map((step) => step.do)).toEqual(['remove', 'add']);
});
