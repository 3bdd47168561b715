import 'reflect-metadata';
import { systemClock } from '@fairlead/clock';
import { BUCKETS, TRUST_KEY, TrustEntry, routeKeys, type GatewayHeartbeat } from '@fairlead/contracts';
import { Projection } from '@fairlead/events';
import { putKv, watchBucket, type KvSnapshot } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { silentLogger } from '@fairlead/observability';
import { openTrust } from '@fairlead/pki';
import { eventually } from '@fairlead/testing';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { KEYS_BUCKETS, ReplicaWatch } from './index.js';
import {
  api,
  gatewayA,
  keysFixture,
  source,
  trustDomain,
  type KeysFixture,
  type KeysProcess,
} from './testing/keys-fixture.js';

let fixture: KeysFixture;
let nats: SecuredNats;
let keys: KeysProcess;
let projection: Projection;
let bucket: KvSnapshot<TrustEntry>;
let replicas: ReplicaWatch;
let asGateway: NatsConnection;
let aheadMs = 0;

beforeAll(async () => {
  fixture = await keysFixture();
  nats = await startSecuredNats(fixture.scratch.file('nats'));
  keys = await fixture.start();
  const connection = await nats.connect(source);
  projection = new Projection({
    database: keys.database,
    nats: connection,
    logger: silentLogger,
    buckets: KEYS_BUCKETS,
  });
  fixture.onCommitted = () => projection.poke();
  asGateway = await nats.connect(gatewayA);
  bucket = watchBucket(asGateway, BUCKETS.trust, TrustEntry);
  await bucket.loaded;
  const monotonicMs = (): number => systemClock.monotonicMs() + aheadMs;
  replicas = new ReplicaWatch(connection, silentLogger, { ...systemClock, monotonicMs });
});
afterAll(async () => {
  await replicas?.[Symbol.asyncDispose]();
  await bucket?.close();
  await projection?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  await fixture?.[Symbol.asyncDispose]();
});

const instance = crypto.randomUUID();

function beat(count: number, trustVersion: number): Promise<void> {
  const { credential } = gatewayA;
  const heartbeat: GatewayHeartbeat = {
    credential,
    instance,
    relayAddress: '',
    zone: '',
    inFlight: 0,
    draining: false,
    trustVersion,
    beat: count,
  };
  return putKv(asGateway, BUCKETS.routes, routeKeys.gateway(credential, instance), heartbeat);
}

it('holds the newest bundle, signed, and what it was overwritten with is put right', async () => {
  await eventually(() => expect(bucket.get(TRUST_KEY)).toMatchObject({ version: 1 }));
  const { roots } = await keys.ca.trustBundle();
  await keys.rotation.rotate(api, { step: 'prepare', force: false });
  await eventually(() => expect(bucket.get(TRUST_KEY)).toMatchObject({ version: 2 }));
  const entry = bucket.get(TRUST_KEY) as TrustEntry;
  const opened = await openTrust(
    {
      bundle: Buffer.from(entry.bundle, 'base64'),
      signature: Buffer.from(entry.signature, 'base64'),
      signerChainPem: entry.signerChain,
    },
    { rootsPem: roots, trustDomain, at: new Date() },
  );
  expect(opened).toMatchObject({ version: 2, rootsPem: (await keys.ca.trustBundle()).roots });
  await putKv(await nats.connect(source), BUCKETS.trust, TRUST_KEY, { ...entry, version: 7 });
  await eventually(() => expect(bucket.get(TRUST_KEY)).toEqual(entry));
});

it('tells which live replicas hold an older version, by their heartbeats', async () => {
  await eventually(() => expect(replicas.behind(1)).toEqual([]));
  await beat(1, 1);
  const behind = [{ credential: 'gateway-a', instance, heldVersion: 1 }];
  await eventually(() => expect(replicas.behind(2)).toEqual(behind));
  expect(replicas.behind(1)).toEqual([]);
  aheadMs += 30_000;
  await beat(2, 0);
  await eventually(() => expect(replicas.behind(2)).toMatchObject([{ heldVersion: 0 }]));
  // Counted from its last beat, for 45 s.
  aheadMs += 30_000;
  expect(replicas.behind(2)).toHaveLength(1);
  aheadMs += 20_000;
  expect(replicas.behind(2)).toEqual([]);
  await beat(3, 1);
  await eventually(() => expect(replicas.behind(2)).toEqual(behind));
  await beat(4, 2);
  await eventually(() => expect(replicas.behind(2)).toEqual([]));
});

it('does not know while NATS is away', async () => {
  nats.server.kill('SIGKILL');
  await eventually(() => expect(() => replicas.behind(2)).toThrow(/not known/), { timeoutMs: 60_000 });
  await nats.server.restart();
  await eventually(() => expect(replicas.behind(2)).toEqual([]), { timeoutMs: 60_000 });
});
