import type { NatsConnection } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import type { GatewayOptions, GatewayState } from '../gateway-state.js';
import { debugView, readiness } from './gateway-status.js';

const connected = {
  isClosed: () => false,
  status: () => (async function* () {})(),
  closed: () => new Promise(() => undefined),
} as unknown as NatsConnection;

function failing(identity: object | null, trustVersion = 1, draining = false): string[] {
  const state = {
    certificates: { identity: { current: identity }, serving: { current: {} } },
    directory: { loaded: true, fresh: true, trust: { loaded: trustVersion > 0, version: trustVersion } },
    routes: { snapshot: { isLoaded: true } },
  } as unknown as GatewayState;
  return readiness(connected, state, draining)
    .filter(({ ok }) => !ok)
    .map(({ name }) => name);
}

it('a replica is unready without its certificates, without a trust bundle, and while it drains', () => {
  expect(failing({})).toEqual([]);
  expect(failing({}, 0)).toEqual(['trust-bundle']);
  expect(failing(null)).toEqual(['certificates']);
  expect(failing({}, 1, true)).toEqual(['draining']);
});

it('shows which clusters a replica knows, not all of very many, and how many they are', () => {
  const entry = (n: number) => ({ tenantId: 'default', clusterId: `id-${n}`, name: `cluster-${n}`, generation: 1 });
  const known = Array.from({ length: 1_200 }, (_, n) => ({ ...entry(n), labels: { of: 'nobody’s business' } }));
  const state = {
    directory: { trust: { version: 1 }, clusters: () => known.values() },
    sessions: { all: () => [], inFlight: 0 },
    live: new Set(),
    routes: { snapshot: new Map() },
  } as unknown as GatewayState;
  const view = debugView({ credential: 'gateway-a', nc: connected } as GatewayOptions, state);
  expect(view).toMatchObject({ totals: { clusters: 1_200 }, clusters: known.slice(0, 1_000).map((_, n) => entry(n)) });
  expect(JSON.stringify(view)).not.toContain('nobody’s business');
});
