import { BUCKETS } from '@fairlead/contracts';
import { createNkey, deleteKv, putKv, type Nkey } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { silentLogger } from '@fairlead/observability';
import { eventually, scratchDir } from '@fairlead/testing';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SubscriberGate } from './index.js';

const PATIENCE = { timeoutMs: 60_000 };
const keys = { role: 'keys', credential: 'keys' } as const;

let nats: SecuredNats;
/** Writes the list, as the audit service does. */
let audit: NatsConnection;
const stack = new AsyncDisposableStack();
const startGate = async (): Promise<SubscriberGate> =>
  new SubscriberGate({
    nats: await nats.connect(keys),
    seed: await nats.seed(keys),
    role: 'keys',
    logger: silentLogger,
  });

beforeAll(async () => {
  nats = stack.use(await startSecuredNats(stack.use(await scratchDir()).path));
  audit = await nats.connect({ role: 'audit', credential: 'audit' });
  stack.use(await startGate());
}, 60_000);
afterAll(() => stack.disposeAsync());

let id: string;
let key: Nkey;
const put = (publicKey: string): Promise<unknown> =>
  putKv(audit, BUCKETS.subscribers, id, { tenantId: 'acme', name: 'siem', publicKey });
/** Lets in what was told a moment ago only when the gate has heard of it. */
const connected = (seed: string): Promise<NatsConnection> => eventually(() => nats.connectSubscriber(seed), PATIENCE);
/** What is said to whom is not let in; asked again where the gate, which is in this process, answered too late. */
const refusalOf = (connect: () => Promise<NatsConnection>): Promise<string> =>
  eventually(async () => {
    const said = await connect().then(() => 'let in', String);
    expect(said).not.toMatch(/timeout/i);
    return said;
  }, PATIENCE);

beforeEach(async () => {
  id = crypto.randomUUID();
  key = createNkey();
  await put(key.publicKey);
});

describe('a subscriber', () => {
  it('is let in, and cut off once it is none any more', async () => {
    const connection = await connected(key.seed);
    const beganMs = performance.now();
    await deleteKv(audit, BUCKETS.subscribers, id);
    await connection.closed();
    console.log(`subscriber: cut off after ${Math.round(performance.now() - beganMs)} ms`);
    expect(await refusalOf(() => nats.connectSubscriber(key.seed))).toMatch(/[Aa]uthorization/);
  });

  it('is cut off by its old key when it has another one, and let in by that', async () => {
    const before = await connected(key.seed);
    const other = createNkey();
    await put(other.publicKey);
    await before.closed();
    const after = await connected(other.seed);
    expect(await refusalOf(() => nats.connectSubscriber(key.seed))).toMatch(/[Aa]uthorization/);
    await after.flush();
    expect(after.isClosed()).toBe(false);
  });

  it('is not let in by whoever knows its public key only', async () => {
    await connected(key.seed);
    const forged = createNkey();
    expect(await refusalOf(() => nats.connectAs({ nkey: key.publicKey, signWith: forged.seed }))).toMatch(
      /[Aa]uthorization/,
    );
  });

  it('is cut off by another process of the service, too', async () => {
    const connection = await connected(key.seed);
    // Nobody told it of this connection.
    await using _other = await startGate();
    await deleteKv(audit, BUCKETS.subscribers, id);
    await connection.closed();
    expect(connection.isClosed()).toBe(true);
  });
});

/** What the processes of the control plane are is in the configuration: they do not need this service to connect. */
it('leaves processes alone, that connect without anybody who decides', async () => {
  await using own = new AsyncDisposableStack();
  const alone = own.use(await startSecuredNats(own.use(await scratchDir()).path));
  const gateway = await alone.connect({ role: 'gateway', credential: 'gateway-a' });
  await gateway.flush();
  await expect(alone.connectSubscriber(key.seed)).rejects.toThrow(/[Aa]uthorization|timeout/i);
});

/** So that nobody stays by a key that was changed meanwhile. */
it('lets nobody in for longer than so long: a client comes back, and nobody does while keys is away', async () => {
  await using own = new AsyncDisposableStack();
  const alone = own.use(await startSecuredNats(own.use(await scratchDir()).path));
  const writer = await alone.connect({ role: 'audit', credential: 'audit' });
  let admitted = 0;
  const gate = own.use(
    new SubscriberGate({
      nats: await alone.connect(keys),
      seed: await alone.seed(keys),
      role: 'keys',
      logger: silentLogger,
      connectionSeconds: 4,
      onDecided: (outcome) => void (admitted += outcome === 'admitted' ? 1 : 0),
    }),
  );
  await putKv(writer, BUCKETS.subscribers, id, { tenantId: 'acme', name: 'siem', publicKey: key.publicKey });
  const staying = await eventually(() => alone.connectSubscriber(key.seed, { reconnect: true }), PATIENCE);
  await eventually(() => expect(admitted).toBeGreaterThanOrEqual(3), PATIENCE);
  expect(staying.isClosed()).toBe(false);
  await staying.close();
  const last = await eventually(() => alone.connectSubscriber(key.seed), PATIENCE);
  await gate[Symbol.asyncDispose]();
  expect(String(await last.closed())).toMatch(/expired/i);
  await expect(alone.connectSubscriber(key.seed)).rejects.toThrow(/[Aa]uthorization|timeout/i);
}, 120_000);
