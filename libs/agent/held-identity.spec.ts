import { beforeEach, expect, it } from 'vitest';
import type { AgentIdentity } from './agent-identity.js';
import { withRoots } from './agent-trust.js';
import { HeldIdentity } from './held-identity.js';
import { IDENTITY, SharedStore } from './testing/held.js';

const identity = IDENTITY;
const renewed = (now: AgentIdentity): AgentIdentity => ({ ...now, keyPem: 'key 2', chainPem: ['chain 2'] });
const told = (version: number) => (now: AgentIdentity) => {
  const signed = { bundle: new Uint8Array([version]), signerChainPem: [], signature: new Uint8Array() };
  return withRoots(now, { version, trustDomain: 'fairlead.local', rootsPem: [`root ${version}`] }, signed);
};

let store: SharedStore;

beforeEach(() => {
  store = new SharedStore();
});

it('a renewal and a trust bundle at once lose nothing of each other, in either order', async () => {
  const both = { keyPem: 'key 2', chainPem: ['chain 2'], rootsPem: ['root 2'], trustVersion: 2 };
  for (const changes of [
    [renewed, told(2)],
    [told(2), renewed],
  ]) {
    store.saved = [];
    const held = new HeldIdentity(identity, store);
    await Promise.all(changes.map((change) => held.change(change)));
    expect(held.current).toMatchObject(both);
    expect(store.saved.at(-1)).toEqual(held.current);
  }
});

it('an older bundle, and the same one again, are not stored', async () => {
  const held = new HeldIdentity(identity, store);
  let told_ = 0;
  held.onChange(() => (told_ += 1));
  await held.change(told(3));
  for (const version of [3, 2, 0]) await held.change(told(version));
  expect([held.current.rootsPem, store.saved.length, told_]).toEqual([['root 3'], 1, 1]);
});

it('what cannot be stored does not count, and the next change can', async () => {
  const held = new HeldIdentity(identity, store);
  store.failing = true;
  await expect(held.change(told(2))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(held.current).toEqual(identity);
  store.failing = false;
  await held.change(told(2));
  expect(held.current.trustVersion).toBe(2);
});

it('once released stores nothing more', async () => {
  const held = new HeldIdentity(identity, store);
  held.release();
  expect(await held.change(renewed)).toEqual(identity);
  expect([store.saved, held.over.aborted]).toEqual([[], true]);
});

it('two pods at once lose nothing of each other’s, and come to hold the same', async () => {
  const [one, other] = [new HeldIdentity(identity, store), new HeldIdentity(identity, store)];
  await Promise.all([one.change(renewed), other.change(told(2)), other.change(told(3))]);
  const all = { keyPem: 'key 2', chainPem: ['chain 2'], rootsPem: ['root 3'], trustVersion: 3 };
  expect(store.saved.at(-1)).toMatchObject(all);
  for (const pod of [one, other]) expect(await pod.takeUp()).toEqual(store.saved.at(-1));
});

it('what another pod has stored is taken up, and told', async () => {
  const [one, other] = [new HeldIdentity(identity, store), new HeldIdentity(identity, store)];
  let heard = 0;
  other.onChange(() => (heard += 1));
  await one.change(renewed);
  expect(await other.takeUp()).toEqual(one.current);
  await other.takeUp();
  expect(heard).toBe(1);
});

it('an older identity that was put back is not taken up, and gives way to the next change', async () => {
  const held = new HeldIdentity(identity, store);
  await held.change(renewed);
  store.saved.push(identity);
  expect(await held.takeUp()).toMatchObject({ keyPem: 'key 2' });
  await held.change(told(2));
  expect(store.saved.at(-1)).toMatchObject({ keyPem: 'key 2', trustVersion: 2 });
});

it.each([
  ['a later enrolment', { generation: 2 }],
  // Its pod has come with another manifest, while one of the old manifest has not ended.
  ['an enrolment as another cluster', { clusterId: '0d6c3e9a-6d0f-4c63-8f37-1a0e8f0b7a55' }],
])('%s is not overwritten', async (_, of) => {
  const held = new HeldIdentity(identity, store);
  const enrolledAnew = { ...identity, ...of, keyPem: 'key 9' };
  store.saved.push(enrolledAnew);
  await expect(held.change(renewed)).rejects.toMatchObject({ code: 'CONFLICT' });
  await expect(held.takeUp()).rejects.toMatchObject({ code: 'CONFLICT' });
  expect([held.current, store.saved.at(-1)]).toEqual([identity, enrolledAnew]);
});

it('what was taken away is put back by the next change', async () => {
  const held = new HeldIdentity(identity, store);
  await held.change(renewed);
  store.saved = [];
  expect(await held.takeUp()).toMatchObject({ keyPem: 'key 2' });
  await held.change(told(2));
  expect(store.saved).toMatchObject([{ keyPem: 'key 2', trustVersion: 2 }]);
});
