import { X509Certificate } from 'node:crypto';
import { testAuthority } from '@fairlead/testing';
import type { GatewayConnection } from '@fairlead/tunnel/agent';
import { beforeAll, expect, it, vi } from 'vitest';
import { StandingConnections, unlessRevoked } from './standing-connections.js';

let good: X509Certificate;
let foreign: X509Certificate;

beforeAll(async () => {
  const authority = await testAuthority();
  good = new X509Certificate((await authority.gateway('gateway-a')).certificatePem);
  foreign = new X509Certificate(authority.root.certificatePem);
});

/** As far as is looked at. */
function connection(leaf: X509Certificate | undefined, destroyed = false) {
  const destroy = vi.fn<(error?: Error) => void>();
  const socket = { destroyed, getPeerX509Certificate: () => leaf };
  const ended = { http2: { socket, destroy }, [Symbol.dispose]: () => destroy() };
  return { destroy, connection: ended as unknown as GatewayConnection };
}

it('ends a connection whose certificate cannot be read, and none whose certificate is good', () => {
  const standing = new StandingConnections();
  const [kept, none, unreadable] = [connection(good), connection(undefined), connection(foreign)];
  for (const each of [none, unreadable, kept]) standing.add(each.connection);
  standing.endRevoked({ revokedGateways: ['0a'] });
  for (const { destroy } of [none, unreadable]) {
    expect(destroy).toHaveBeenCalledWith(expect.objectContaining({ code: 'UNTRUSTED_PEER' }));
  }
  expect(kept.destroy).not.toHaveBeenCalled();
});

it('takes no new connection of that kind, and does not call one that broke a foreign one', () => {
  const kept = connection(good);
  expect(unlessRevoked(kept.connection, {})).toBe(kept.connection);
  for (const [refused, code] of [
    [connection(undefined), 'UNTRUSTED_PEER'],
    [connection(foreign), 'UNTRUSTED_PEER'],
    [connection(undefined, true), 'UNAVAILABLE'],
  ] as const) {
    expect(() => unlessRevoked(refused.connection, {})).toThrow(expect.objectContaining({ code }));
    expect(refused.destroy).toHaveBeenCalledOnce();
  }
});
