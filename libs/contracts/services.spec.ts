import { describe, expect, it } from 'vitest';
import { BUCKETS } from './buckets.js';
import * as contracts from './index.js';
import { ALL_RPCS, REPLICA_RPCS } from './all-rpcs.js';
import { ROLES, SERVICE_NAMES, bucketOf, rowOf } from './services.js';

describe('the table of services', () => {
  it('gives no port twice', () => {
    const ports = ROLES.map(rowOf).flatMap(({ healthPort, listens }) => [
      healthPort,
      ...Object.values(listens).map(({ port }) => port),
    ]);
    expect(new Set(ports).size).toBe(ports.length);
  });

  it('gives each bucket exactly one writer', () => {
    const writersOf = (bucket: string): readonly string[] =>
      ROLES.filter((role) => rowOf(role).nats.writes.some((keys) => bucketOf(keys) === bucket));
    const counts = Object.keys(BUCKETS).map((bucket) => [bucket, writersOf(bucket).length] as const);
    expect(counts).toEqual(Object.keys(BUCKETS).map((bucket) => [bucket, 1]));
  });

  it('lets every service tell events: each tells of requests that were forged', () => {
    expect(SERVICE_NAMES.filter((name) => !rowOf(name).nats.events)).toEqual([]);
  });

  it('names schemas by plain identifiers', () => {
    for (const name of SERVICE_NAMES) expect(name).toMatch(/^[a-z][a-z0-9_]{0,30}$/);
  });
});

it('each RPC that is exported is among those of services, or of replicas', () => {
  const isRpc = (value: unknown): boolean =>
    typeof value === 'object' && value !== null && 'method' in value && 'callers' in value;
  const exported = Object.entries(contracts)
    .filter(([name]) => name !== 'ALL_RPCS' && name !== 'REPLICA_RPCS')
    .flatMap(([, value]) => (typeof value === 'object' ? Object.values(value).filter(isRpc) : []));
  expect(exported.length).toBeGreaterThan(0);
  for (const rpc of exported) expect([...ALL_RPCS, ...REPLICA_RPCS]).toContain(rpc);
});
