import type { TlsIdentity } from '@fairlead/tunnel/gateway';
import type { NatsConnection } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import type { GatewayState } from './gateway-state.js';
import { readiness } from './gateway-status.js';

const connected = {
  isClosed: () => false,
  status: () => (async function* () {})(),
  closed: () => new Promise(() => undefined),
} as unknown as NatsConnection;

function failing(identity: Partial<TlsIdentity> | null, draining = false): string[] {
  const state = {
    certificates: { identity: { current: identity }, serving: { current: {} } },
    directory: { loaded: true, fresh: true },
    routes: { snapshot: { isLoaded: true } },
  } as unknown as GatewayState;
  return readiness(connected, state, draining)
    .filter(({ ok }) => !ok)
    .map(({ name }) => name);
}

it('a replica is unready without its certificates, without roots to trust, and while it drains', () => {
  expect(failing({ rootsPem: ['root'] })).toEqual([]);
  expect(failing({ rootsPem: [] })).toEqual(['trust-bundle']);
  expect(failing(null)).toEqual(['certificates', 'trust-bundle']);
  expect(failing({ rootsPem: ['root'] }, true)).toEqual(['draining']);
});
