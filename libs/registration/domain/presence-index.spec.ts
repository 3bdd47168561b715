import { routeKeys, type GatewayHeartbeat, type LinkRoute } from '@fairlead/contracts';
import { expect, it } from 'vitest';
import { PresenceIndex } from './presence-index.js';

const instance = crypto.randomUUID();
const clusterId = crypto.randomUUID();
const route: LinkRoute = {
  tenantId: 'default',
  clusterId,
  generation: 1,
  sessionId: crypto.randomUUID(),
  gatewayInstance: instance,
  agentInstance: 'a',
  address: '192.0.2.1',
  connectedAt: '2026-01-01T00:00:00.000Z',
  agentVersion: '0.1.0',
  pod: null,
};
const beat = { credential: 'gateway-a', instance, beat: 1 } as GatewayHeartbeat;
const sessionKey = routeKeys.session('gateway-a', route);
const gatewayKey = routeKeys.gateway('gateway-a', instance);
const enrolledAt = '2025-01-01T00:00:00.000Z';

let nowMs = 0;
const clock = { nowMs: (): number => 1_700_000_000_000 + nowMs, monotonicMs: (): number => nowMs };

it('is online while a session and its gateway are there', () => {
  const index = new PresenceIndex(clock);
  expect(index.presence(clusterId, null).state).toBe('never');
  index.change(sessionKey, route);
  expect(index.presence(clusterId, enrolledAt).state).toBe('offline');
  index.change(gatewayKey, beat);
  expect(index.presence(clusterId, enrolledAt)).toEqual({
    state: 'online',
    replicas: ['gateway-a'],
    liveReplicas: 1,
    since: route.connectedAt,
    agents: [{ instance: 'a', addresses: ['192.0.2.1'], since: route.connectedAt, version: '0.1.0', pod: null }],
    duplicate: null,
  });
  index.change(sessionKey, undefined);
  const since = new Date(clock.nowMs()).toISOString();
  expect(index.presence(clusterId, enrolledAt)).toEqual({
    state: 'offline',
    replicas: [],
    liveReplicas: 1,
    since,
    agents: [],
    duplicate: null,
  });
});

it('takes the sessions of a silent gateway for gone, but not for an outage of NATS', () => {
  nowMs = 0;
  const index = new PresenceIndex(clock);
  index.change(gatewayKey, beat);
  index.change(sessionKey, route);
  const stateAt = (ms: number): string => {
    nowMs = ms;
    return index.presence(clusterId, enrolledAt).state;
  };
  expect(stateAt(44_000)).toBe('online');
  expect(stateAt(46_000)).toBe('offline');
  index.listening();
  expect(stateAt(47_000)).toBe('online');
  index.change(gatewayKey, undefined);
  expect(stateAt(48_000)).toBe('offline');
});

it('is draining once every gateway with a link of it is about to leave', () => {
  nowMs = 0;
  const index = new PresenceIndex(clock);
  const other = crypto.randomUUID();
  const otherRoute = { ...route, gatewayInstance: other, sessionId: crypto.randomUUID() };
  index.change(gatewayKey, { ...beat, draining: true });
  index.change(routeKeys.gateway('gateway-b', other), { ...beat, instance: other });
  index.change(sessionKey, route);
  index.change(routeKeys.session('gateway-b', otherRoute), otherRoute);
  expect(index.presence(clusterId, enrolledAt)).toMatchObject({ state: 'online', agents: [{ instance: 'a' }] });
  index.change(routeKeys.gateway('gateway-b', other), { ...beat, instance: other, draining: true });
  expect(index.presence(clusterId, enrolledAt).state).toBe('draining');
});

it('tells a second process with the same identity, and where it is', () => {
  nowMs = 0;
  const index = new PresenceIndex(clock);
  const sessionId = crypto.randomUUID();
  const connectedAt = '2026-01-02T00:00:00.000Z';
  const second: LinkRoute = { ...route, sessionId, connectedAt, agentInstance: 'b', address: '198.51.100.7' };
  index.change(gatewayKey, beat);
  index.change(routeKeys.session('gateway-a', second), second);
  expect(index.crowded()).toEqual([]);
  index.change(sessionKey, route);
  const crowd = {
    tenantId: 'default',
    clusterId,
    duplicate: 'elsewhere',
    agents: [{ instance: 'a' }, { instance: 'b' }],
  };
  expect(index.crowded()).toMatchObject([crowd]);
  expect(index.presence(clusterId, enrolledAt)).toMatchObject({
    state: 'online',
    since: route.connectedAt,
    agents: [
      { instance: 'a', addresses: ['192.0.2.1'], since: route.connectedAt },
      { instance: 'b', addresses: ['198.51.100.7'], since: connectedAt },
    ],
  });
  index.change(sessionKey, undefined);
  expect(index.crowded()).toEqual([]);
});
