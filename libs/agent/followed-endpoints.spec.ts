import { systemClock } from '@fairlead/clock';
import { beforeEach, expect, it } from 'vitest';
import type { AgentIdentity } from './agent-identity.js';
import { FollowedEndpoints } from './followed-endpoints.js';
import { HeldIdentity } from './held-identity.js';
import { afterBundle } from './known-endpoints.js';
import { IDENTITY, SharedStore } from './testing/held.js';
import { named } from './testing/named.js';

const own = { host: 'own', port: 443 };
const first = { host: 'first', port: 443 };
const second = { host: 'second', port: 443 };
/** The link has stood for a while. */
const clock = { ...systemClock, sleep: () => Promise.resolve() };
const signal = new AbortController().signal;

let store: SharedStore;

function naming(host: string, before: Parameters<typeof afterBundle>[0] = {}): ReturnType<typeof afterBundle> {
  return afterBundle(before, { endpoints: [named(host)] });
}

beforeEach(() => {
  store = new SharedStore({ ...IDENTITY, ...naming('first') });
});

const stored = (): AgentIdentity => store.saved.at(-1)!;

function pod(): { held: HeldIdentity; followed: FollowedEndpoints } {
  const held = new HeldIdentity(stored(), store);
  return { held, followed: new FollowedEndpoints(held, [own], undefined, clock) };
}

const toldOfSecond = (identity: AgentIdentity): AgentIdentity => ({ ...identity, ...naming('second', identity) });
const formerOnes = (): unknown => stored().formerEndpoints?.map(({ address }) => address);

it('forgets former endpoints once a link has stood at one that is named', async () => {
  const { held, followed } = pod();
  await held.change(toldOfSecond);
  expect(formerOnes()).toEqual(['first:443']);
  await followed.worked(own, signal);
  expect(formerOnes()).toEqual(['first:443']);
  await followed.worked(second, signal);
  expect(formerOnes()).toEqual([]);
});

it('forgets none for a link that stands where another pod was told not to dial any more', async () => {
  // A former one that this pod would forget, by what it holds itself.
  store = new SharedStore({ ...stored(), formerEndpoints: [{ address: 'zeroth:443' }] });
  const [one, other] = [pod(), pod()];
  await other.held.change(toldOfSecond);
  await one.followed.worked(first, signal);
  expect(formerOnes()).toEqual(['first:443', 'zeroth:443']);
});

it('follows what another pod was told, once it takes that up', async () => {
  const [one, other] = [pod(), pod()];
  const changed = one.followed.changed();
  await other.held.change(toldOfSecond);
  expect([one.followed.choice.isActive(first), changed.aborted]).toEqual([true, false]);
  await one.held.takeUp();
  expect([one.followed.choice.isActive(first), one.followed.choice.isActive(second)]).toEqual([false, true]);
  expect([one.followed.choice.urgency(first), changed.aborted]).toEqual(['soon', true]);
});
