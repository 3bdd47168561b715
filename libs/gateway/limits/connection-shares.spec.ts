import { EventEmitter } from 'node:events';
import type { Server } from 'node:net';
import { expect, it } from 'vitest';
import { ConnectionShares, connectShares, connectionsOf, kubeApiShares } from './connection-shares.js';

const code = (take: () => unknown): unknown => {
  try {
    take();
    return 'taken';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

it.each([
  { door: 'the Kubernetes API door', shares: kubeApiShares(4_000), connections: 16_000 },
  { door: 'the Kubernetes API door with a larger share of a user', shares: kubeApiShares(20_000), connections: 48_000 },
  { door: 'the CONNECT door', shares: connectShares(10_000, 4_096), connections: 16_500 },
])('at $door one user, and the unauthenticated of one network, leave slots of both kinds to others', (each) => {
  const { unauthenticated, known } = each.shares;
  expect(connectionsOf(each.shares)).toBe(each.connections);
  expect(unauthenticated.total + known.total).toBeLessThanOrEqual(each.connections);
  expect(2 * known.perKey).toBeLessThan(known.total);
  expect(2 * unauthenticated.perNetwork).toBeLessThanOrEqual(unauthenticated.total);
});

it('one who has all that one may is told so, and once all have all there is, everybody', () => {
  const shares = { unauthenticated: { total: 9, perNetwork: 9 }, known: { total: 3, perKey: 2 } };
  const connections = new ConnectionShares(new EventEmitter() as Server, shares, 'too many');
  const open = (who: string) => {
    const connection = Object.assign(new EventEmitter(), { destroyed: false });
    connections.admit(connection, {}, who);
    return connection;
  };
  const first = open('many');
  open('many');
  expect(code(() => open('many'))).toBe('RATE_LIMITED');
  open('other');
  expect(code(() => open('third'))).toBe('UNAVAILABLE');
  expect(code(() => open('many'))).toBe('RATE_LIMITED');
  // Whoever else is let in on a connection that is somebody's already takes no other slot.
  expect(code(() => connections.admit(first, {}, 'third'))).toBe('taken');
  first.emit('close');
  first.emit('close');
  expect(code(() => open('third'))).toBe('taken');
  expect(code(() => open('third'))).toBe('UNAVAILABLE');
});
