import { randomUUID } from 'node:crypto';
import type { GatewayHeartbeat, LinkRoute } from '@fairlead/contracts';
import { beforeEach, describe, expect, it } from 'vitest';
import { RouteTable } from './route-table.js';

const LEASE_MS = 15_000;
const CLUSTER = randomUUID();
const ids = { own: randomUUID(), b: randomUUID(), c: randomUUID() };
let table: RouteTable;

const beat = (instance: string, count: number, change: Partial<GatewayHeartbeat> = {}): GatewayHeartbeat => ({
  credential: `gateway-${instance.slice(0, 4)}`,
  instance,
  relayAddress: '127.0.0.1:1',
  zone: 'z1',
  inFlight: 0,
  draining: false,
  trustVersion: 0,
  beat: count,
  ...change,
});

function announce(gatewayInstance: string, generation = 1, clusterId = CLUSTER): string {
  const route: LinkRoute = {
    tenantId: 'default',
    clusterId,
    generation,
    sessionId: randomUUID(),
    gatewayInstance,
    address: '192.0.2.1',
    agentInstance: 'agent',
    connectedAt: new Date(0).toISOString(),
    agentVersion: '0.1.0',
    pod: null,
  };
  const key = `session.gateway.${gatewayInstance}.default.${clusterId}.${route.sessionId}`;
  table.setSession(key, route);
  return key;
}

it('a cluster is held as long as a replica beats that announced a link of it, this one too', () => {
  table.setGateway(beat(ids.own, 1), 0);
  expect(table.isHeld(CLUSTER, 0)).toBe(false);
  const key = announce(ids.own);
  expect(table.isHeld(CLUSTER, LEASE_MS)).toBe(true);
  expect(table.isHeld(CLUSTER, LEASE_MS + 1)).toBe(false);
  table.setGateway(beat(ids.own, 2), LEASE_MS + 1);
  expect(table.isHeld(CLUSTER, LEASE_MS + 1)).toBe(true);
  table.removeSession(key, LEASE_MS + 1);
  expect(table.isHeld(CLUSTER, LEASE_MS + 1)).toBe(false);
});

it('counts the replicas that beat and do not drain, and itself before it knows itself', () => {
  let beats = 0;
  table.onBeat(() => (beats += 1));
  expect(table.replicas(0)).toBe(1);
  table.setGateway(beat(ids.own, 1), 0);
  table.setGateway(beat(ids.b, 1), 0);
  table.setGateway(beat(ids.c, 1), LEASE_MS);
  expect(table.replicas(LEASE_MS)).toBe(3);
  expect(table.replicas(LEASE_MS + 1)).toBe(2);
  table.setGateway(beat(ids.c, 2, { draining: true }), LEASE_MS + 1);
  table.setGateway(beat(ids.c, 2), LEASE_MS + 1);
  expect(table.replicas(LEASE_MS + 1)).toBe(1);
  table.removeGateway(ids.b);
  expect(beats).toBe(5);
});

const owners = (nowMs: number): string[] => table.owners(CLUSTER, nowMs).map(({ instance }) => instance);

beforeEach(() => {
  table = new RouteTable({ ownInstance: ids.own, zone: 'z1', leaseMs: LEASE_MS });
});

describe('the owners of a cluster', () => {
  it('are the other replicas that announced a session, and are known themselves', () => {
    announce(ids.own);
    announce(ids.b);
    announce(ids.c);
    table.setGateway(beat(ids.own, 1), 0);
    table.setGateway(beat(ids.b, 1), 0);
    expect(owners(0)).toEqual([ids.b]);
  });

  it('say by which link, as long as there is one alone', () => {
    const key = announce(ids.b);
    table.setGateway(beat(ids.b, 1), 0);
    const linkOf = (): string | undefined => table.owners(CLUSTER, 0)[0]?.sessionId;
    expect(linkOf()).toBe(key.split('.').at(-1));
    const another = announce(ids.b);
    expect(linkOf()).toBeUndefined();
    table.removeSession(key, 0);
    expect(linkOf()).toBe(another.split('.').at(-1));
  });

  it('go when their session or their replica does', () => {
    const key = announce(ids.b);
    table.setGateway(beat(ids.b, 1), 0);
    table.removeSession(key, 0);
    expect(owners(0)).toEqual([]);
    announce(ids.b);
    table.removeGateway(ids.b);
    expect(owners(0)).toEqual([]);
  });

  it('are only those of the highest enrolment', () => {
    announce(ids.b, 1);
    const newest = announce(ids.c, 2);
    for (const instance of [ids.b, ids.c]) table.setGateway(beat(instance, 1), 0);
    expect(owners(0)).toEqual([ids.c]);
    table.removeSession(newest, 0);
    expect(owners(0)).toEqual([ids.b]);
  });

  it('are remembered for a while after the last one went, in time connected to NATS', () => {
    const key = announce(ids.b);
    table.setGateway(beat(ids.b, 1), 0);
    expect(table.seenWithin(CLUSTER, 30_000, 0)).toBe(false);
    table.removeSession(key, 1_000);
    expect(table.seenWithin(CLUSTER, 30_000, 31_000)).toBe(true);
    expect(table.seenWithin(CLUSTER, 30_000, 31_001)).toBe(false);
  });

  it('come in order of zone, then of tunnels in use', () => {
    announce(ids.b);
    announce(ids.c);
    table.setGateway(beat(ids.b, 1, { zone: 'z2', inFlight: 0 }), 0);
    table.setGateway(beat(ids.c, 1, { zone: 'z1', inFlight: 9 }), 0);
    expect(owners(0)).toEqual([ids.c, ids.b]);
    table.setGateway(beat(ids.b, 2, { zone: 'z1', inFlight: 3 }), 0);
    expect(owners(0)).toEqual([ids.b, ids.c]);
  });

  it('come last while they drain, are late, or failed a probe', () => {
    announce(ids.b);
    announce(ids.c);
    const fresh = (): void => {
      for (const instance of [ids.b, ids.c]) table.removeGateway(instance);
      table.setGateway(beat(ids.b, 1), 0);
      table.setGateway(beat(ids.c, 1, { zone: 'z2', inFlight: 99 }), 0);
      expect(owners(0)).toEqual([ids.b, ids.c]);
    };
    fresh();
    table.setGateway(beat(ids.b, 2, { draining: true }), 0);
    expect(owners(0)).toEqual([ids.c, ids.b]);
    fresh();
    table.setGateway(beat(ids.c, 2, { zone: 'z2' }), LEASE_MS);
    expect(owners(LEASE_MS + 1)).toEqual([ids.c, ids.b]);
    fresh();
    table.probeFailed(ids.b);
    expect(owners(0)).toEqual([ids.c, ids.b]);
  });
});

describe('liveness', () => {
  it('is told by change alone: the same beat delivered again is no sign of life', () => {
    announce(ids.b);
    table.setGateway(beat(ids.b, 7), 0);
    table.setGateway(beat(ids.b, 7), LEASE_MS);
    table.probeFailed(ids.b);
    expect(owners(LEASE_MS)).toEqual([ids.b]);
    expect(owners(LEASE_MS + 1)).toEqual([]);
  });

  it('needs a full silent lease and a failed probe to be denied; neither is enough alone', () => {
    announce(ids.b);
    table.setGateway(beat(ids.b, 1), 0);
    expect(owners(100 * LEASE_MS)).toEqual([ids.b]);
    table.probeFailed(ids.b);
    expect(owners(LEASE_MS)).toEqual([ids.b]);
    expect(owners(100 * LEASE_MS)).toEqual([]);
  });

  it('comes back with the next beat, which also forgives the failed probe', () => {
    announce(ids.b);
    table.setGateway(beat(ids.b, 1), 0);
    table.probeFailed(ids.b);
    expect(owners(2 * LEASE_MS)).toEqual([]);
    table.setGateway(beat(ids.b, 2), 2 * LEASE_MS);
    expect(owners(3 * LEASE_MS)).toEqual([ids.b]);
  });
});

describe('leftovers', () => {
  it('of a credential are its other instances that have not beaten for three leases', () => {
    table.setGateway(beat(ids.own, 1, { credential: 'gateway-a' }), 0);
    table.setGateway(beat(ids.b, 1, { credential: 'gateway-a' }), 0);
    table.setGateway(beat(ids.c, 1, { credential: 'gateway-c' }), 0);
    expect(table.deadInstances('gateway-a', 3 * LEASE_MS)).toEqual([]);
    expect(table.deadInstances('gateway-a', 3 * LEASE_MS + 1)).toEqual([ids.b]);
  });

  it('are found by the instance that announced them', () => {
    const keys = [announce(ids.b), announce(ids.b, 1, randomUUID())];
    announce(ids.c);
    expect(table.sessionKeysOf(ids.b).toSorted()).toEqual(keys.toSorted());
    expect(table.sessionKeysOf(randomUUID())).toEqual([]);
  });
});
