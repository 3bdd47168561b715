import type { NatsConnection } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import type { GatewayState } from './gateway-state.js';
import { readiness } from './gateway-status.js';

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
