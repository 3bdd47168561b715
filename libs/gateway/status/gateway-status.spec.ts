import type { NatsConnection } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import type { GatewayOptions, GatewayState } from '../gateway-state.js';
import { debugView, readiness } from './gateway-status.js';

const connected = {
  isClosed: () => false,
  // Nothing ever changes.
  status: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }) }),
  closed: () => new Promise(() => undefined),
} as unknown as NatsConnection;

const NOW_MS = 1_000_000;
const until = (ms: number): object => ({ notAfter: new Date(ms) });

const away: NatsConnection = { ...connected, isClosed: () => true };

interface Given {
  readonly identity?: object | null;
  readonly serving?: object;
  readonly trustVersion?: number;
  readonly draining?: boolean;
  readonly fresh?: boolean;
  readonly nc?: NatsConnection;
}

function failing(given: Given = {}): string[] {
  const { identity = until(NOW_MS + 1), serving = until(NOW_MS + 1), trustVersion = 1, nc = connected } = given;
  const { draining = false, fresh = true } = given;
  const state = {
    certificates: { identity: { current: identity }, serving: { current: serving } },
    directory: { loaded: true, fresh, trust: { loaded: trustVersion > 0, version: trustVersion } },
    routes: { snapshot: { isLoaded: true } },
  } as unknown as GatewayState;
  return readiness(nc, state, draining, NOW_MS)
    .filter(({ ok }) => !ok)
    .map(({ name }) => name);
}

it('a replica is unready without its certificates, without a trust bundle, and while it drains', () => {
  expect(failing()).toEqual([]);
  expect(failing({ trustVersion: 0 })).toEqual(['trust-bundle']);
  expect(failing({ identity: null })).toEqual(['certificates']);
  expect(failing({ draining: true })).toEqual(['draining']);
});

it('a replica whose certificates have ended is unready', () => {
  expect(failing({ serving: until(NOW_MS) })).toEqual(['certificate-serving']);
  expect(failing({ identity: until(NOW_MS) })).toEqual(['certificate-identity']);
});

it('what NATS being away does to all replicas at once makes none of them unready', () => {
  expect(failing({ nc: away, fresh: false, identity: until(NOW_MS) })).toEqual([]);
  expect(failing({ nc: away, serving: until(NOW_MS) })).toEqual(['certificate-serving']);
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
