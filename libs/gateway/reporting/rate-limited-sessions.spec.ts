import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { rateLimitedSessions } from './rate-limited-sessions.js';
import type { GatewayEvents, SessionEvent } from './gateway-events.js';

let nowMs = 0;
let told: string[] = [];
let events: GatewayEvents;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  nowMs = 0;
  told = [];
  const tell =
    (what: string) =>
    ({ clusterId, sessionId, suppressed }: SessionEvent): void =>
      void told.push(`${clusterId} ${what} ${sessionId} ${suppressed ?? 0}`);
  const inner = {
    agentConnected: tell('+'),
    agentDisconnected: tell('-'),
    accessRefused: ({ code }: { code: string }) => void told.push(code),
    stream: () => undefined,
    administratorUsed: () => undefined,
  };
  events = rateLimitedSessions(inner, { monotonicMs: () => nowMs });
});
afterEach(() => vi.useRealTimers());

function pass(ms: number): void {
  nowMs += ms;
  vi.advanceTimersByTime(ms);
}

const session = (clusterId: string, sessionId: string): SessionEvent => ({
  tenantId: 'default',
  clusterId,
  sessionId,
  generation: 1,
});

/** Comes, and goes half a second later, as often as said. */
function flap(clusterId: string, times: number): void {
  for (let n = 0; n < times; n += 1) {
    events.agentConnected(session(clusterId, `s${n}`));
    pass(500);
    events.agentDisconnected({ ...session(clusterId, `s${n}`), durationMs: 500 });
    pass(500);
  }
}

it('tells everything of agents that come and go now and then', () => {
  for (let n = 0; n < 20; n += 1) {
    flap('quiet', 1);
    pass(30_000);
  }
  expect(told).toHaveLength(40);
  expect(told.every((line) => line.endsWith(' 0'))).toBe(true);
});

it('tells at most six a minute of one that flaps every second, counts the others, and tells the last one', () => {
  flap('flapping', 600);
  pass(60_000);
  // Ten at once, then one every ten seconds for ten minutes.
  expect(told.length).toBeGreaterThan(60);
  expect(told.length).toBeLessThanOrEqual(72);
  const suppressed = told.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  expect(told.length + suppressed).toBe(1_200);
  expect(told.at(-1)).toMatch(/^flapping - s599 /);
});

it('holds back no other cluster, and no refusal', () => {
  flap('flapping', 60);
  told = [];
  events.agentConnected(session('other', 'one'));
  events.accessRefused({ code: 'FORBIDDEN', reason: '', address: '', door: 'link' });
  expect(told).toEqual(['other + one 0', 'FORBIDDEN']);
});

it('forgets clusters that are quiet', () => {
  for (let n = 0; n < 5_000; n += 1) events.agentConnected(session(`c${n}`, 's'));
  expect(told).toHaveLength(5_000);
  pass(600_000);
  flap('flapping', 60);
  expect(told.length).toBeLessThan(5_030);
});
