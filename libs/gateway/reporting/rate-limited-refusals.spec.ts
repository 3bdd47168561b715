import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { rateLimitedRefusals } from './rate-limited-refusals.js';
import type { GatewayEvents, Refusal, StreamEvent } from './gateway-events.js';

let nowMs = 0;
let told: Refusal[] = [];
let streams: string[] = [];
let events: GatewayEvents;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  [nowMs, told, streams] = [0, [], []];
  const nothing = (): void => undefined;
  const inner = {
    agentConnected: nothing,
    agentDisconnected: nothing,
    accessRefused: (it: Refusal) => void told.push(it),
    stream: ({ user }: StreamEvent) => void streams.push(user),
    administratorUsed: () => undefined,
  };
  events = rateLimitedRefusals(inner, { monotonicMs: () => nowMs });
});
afterEach(() => vi.useRealTimers());

function pass(ms: number): void {
  nowMs += ms;
  vi.advanceTimersByTime(ms);
}

function refuse(times: number, change: Partial<Refusal> | ((n: number) => Partial<Refusal>) = {}): void {
  for (let n = 0; n < times; n += 1) {
    const fields = typeof change === 'function' ? change(n) : change;
    events.accessRefused({
      code: 'UNAUTHENTICATED',
      reason: `r${n}`,
      address: '192.0.2.1',
      door: 'kube-api',
      ...fields,
    });
  }
}

it('tells every refusal of a few', () => {
  refuse(30);
  expect(told).toHaveLength(30);
  expect(told.every(({ suppressed }) => suppressed === undefined)).toBe(true);
});

it('of a flood from one address tells thirty, and each minute the newest with how many it stands for', () => {
  refuse(10_000);
  expect(told).toHaveLength(30);
  pass(60_000);
  expect(told).toHaveLength(31);
  expect(told.at(-1)).toMatchObject({ reason: 'r9999', suppressed: 9_969 });
  pass(600_000);
  expect(told).toHaveLength(31);
});

it('a network of IPv6 addresses is one address', () => {
  refuse(1_000, (n) => ({ address: `2001:db8::${n.toString(16)}` }));
  expect(told).toHaveLength(30);
});

it('a flood from many addresses is bounded in all', () => {
  refuse(20_000, (n) => ({ address: `10.0.${n >> 8}.${n & 255}` }));
  expect(told).toHaveLength(200);
});

it('whatever the unauthenticated do, a cluster, client or user that proved itself is told of', () => {
  refuse(20_000, (n) => ({ address: `10.0.${n >> 8}.${n & 255}` }));
  told = [];
  refuse(1, { clusterId: 'one', door: 'link' });
  refuse(1, { user: 'client:ci', tenantId: 'default', door: 'connect' });
  refuse(1, { user: 'admin', tenantId: 'default' });
  expect(told.map(({ door }) => door)).toEqual(['link', 'connect', 'kube-api']);
});

it('one identity that is refused without end leaves the others theirs', () => {
  refuse(1_000, { clusterId: 'one', door: 'link' });
  expect(told).toHaveLength(50);
  refuse(1, { clusterId: 'two', door: 'link' });
  expect(told).toHaveLength(51);
  pass(60_000);
  expect(told.at(-1)).toMatchObject({ clusterId: 'one', suppressed: 949 });
});

it('of streams that one user is refused at the door fifty are told, and whatever was let on', () => {
  const stream = (user: string, atDoor: boolean): void =>
    events.stream({ tenantId: 'default', user, atDoor } as StreamEvent);
  for (let n = 0; n < 200; n += 1) stream('eve', true);
  stream('ann', true);
  for (let n = 0; n < 100; n += 1) stream('bob', false);
  expect(streams.filter((user) => user === 'eve')).toHaveLength(50);
  expect(streams.filter((user) => user === 'ann')).toHaveLength(1);
  expect(streams.filter((user) => user === 'bob')).toHaveLength(100);
});
