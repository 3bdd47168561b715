import { MAX_SUBSCRIBERS, subscriberRpc, type Subscriber } from '@fairlead/contracts';
import { createEvent, type OutgoingEvent } from '@fairlead/events';
import { calloutIssuer, createNkey, serveAdmission, type Nkey } from '@fairlead/messaging';
import { silentLogger } from '@fairlead/observability';
import { emptyTables } from '@fairlead/persistence/testing';
import { eventually } from '@fairlead/testing';
import { jetstream, type ConsumerMessages } from '@nats-io/jetstream';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { auditFixture, type AuditFixture } from './testing/audit-fixture.js';

const PATIENCE = { timeoutMs: 60_000 };
const access = { role: 'access', credential: 'access' } as const;
const keys = { role: 'keys', credential: 'keys' } as const;

let audit: AuditFixture;
const stack = new AsyncDisposableStack();

beforeAll(async () => {
  audit = stack.use(await auditFixture());
  stack.use(await audit.start());
  const nats = await audit.nats.connect(keys);
  const known = new Map<string, string>();
  stack.use(
    serveAdmission({
      nats,
      queue: 'keys',
      issuer: calloutIssuer(await audit.nats.seed(keys)),
      known: (publicKey) => known.get(publicKey),
      logger: silentLogger,
    }),
  );
  letIn = (subscriber) => void known.set(subscriber.nats?.publicKey ?? '', subscriber.id);
}, 120_000);
afterAll(() => stack.disposeAsync());
beforeEach(async () => {
  await emptyTables(audit.database, 'subscribers', 'outbox');
});

/** As keys does, of those that a test names. */
let letIn: (subscriber: Subscriber) => void;
const by = 'dana';

async function create(tenantId: string, name: string, types: string[], key: Nkey = createNkey()) {
  const subscriber = { kind: 'nats' as const, name, types, publicKey: key.publicKey };
  const made = await audit.asApi.call(subscriberRpc.createSubscriber, tenantId, { subscriber, by });
  letIn(made);
  return { made, key };
}

/** Fetches as any client would, with what the API said and the key. */
async function fetched({ made, key }: { made: Subscriber; key: Nkey }, count: number): Promise<ConsumerMessages> {
  const nc = await audit.nats.connectSubscriber(key.seed);
  const { stream, consumer, apiPrefix } = made.nats!;
  const consumers = jetstream(nc, { apiPrefix }).consumers;
  return (await consumers.get(stream, consumer)).fetch({ max_messages: count, expires: 30_000 });
}

interface Told {
  readonly names: unknown[];
  readonly numbers: number[];
}

/** The next events, acknowledged, by the name of what each is about. */
async function told(of: { made: Subscriber; key: Nkey }, count: number): Promise<Told> {
  const names: unknown[] = [];
  const numbers: number[] = [];
  for await (const message of await fetched(of, count)) {
    names.push(message.json<{ data: { user: string } }>().data.user);
    numbers.push(message.seq);
    await message.ackAck();
  }
  return { names, numbers };
}

function loginEvent(tenantId: string, user: string, type = 'dev.fairlead.login.ended.v1' as const): OutgoingEvent {
  const data = { tenantId, subject: 'login/1', actor: { kind: 'user' as const, id: user }, reason: 'OK' };
  return createEvent(access, type, { ...data, issuer: 'corp', user });
}
const tell = (tenantId: string, user: string): Promise<void> => audit.publishEvent(loginEvent(tenantId, user), access);

const toldTypes = async (): Promise<string[]> => {
  const rows = (await audit.database.query('select subject from outbox order by id')) as { subject: string }[];
  return rows.map(({ subject }) => subject);
};

describe('subscribers', () => {
  it('are told what they asked for, of their own tenant, from then on, each at its own pace', async () => {
    await tell('acme', 'before');
    const acme = await create('acme', 'siem', ['login.*', 'grant.created']);
    const globex = await create('globex', 'siem', ['*']);
    const grants = await create('acme', 'grants', ['grant.*']);
    await tell('acme', 'a1');
    await tell('globex', 'g1');
    await tell('acme', 'a2');
    expect((await told(acme, 2)).names).toEqual(['a1', 'a2']);
    expect((await told(globex, 1)).names).toEqual(['g1']);
    const nc = await audit.nats.connectSubscriber(grants.key.seed);
    const { stream, consumer, apiPrefix } = grants.made.nats!;
    const info = await (await jetstream(nc, { apiPrefix }).consumers.get(stream, consumer)).info();
    expect(info.num_pending).toBe(0);
  });

  it('are told again from a number or a moment on', async () => {
    const siem = await create('acme', 'siem', ['login.*']);
    for (const user of ['a1', 'a2', 'a3']) await tell('acme', user);
    const { numbers } = await told(siem, 3);
    const replay = (from: { number: number } | { time: string }) =>
      audit.asApi.call(subscriberRpc.replaySubscriber, 'acme', { name: 'siem', from, by });
    await replay({ number: numbers[1]! });
    expect((await told(siem, 2)).names).toEqual(['a2', 'a3']);
    await replay({ time: siem.made.createdAt });
    expect((await told(siem, 3)).names).toEqual(['a1', 'a2', 'a3']);
  });

  it('keep where they stand when they get another key', async () => {
    const siem = await create('acme', 'siem', ['login.*']);
    await tell('acme', 'a1');
    await told(siem, 1);
    const other = createNkey();
    const asked = { name: 'siem', publicKey: other.publicKey, by };
    const rotated = await audit.asApi.call(subscriberRpc.rotateSubscriber, 'acme', asked);
    letIn(rotated);
    await tell('acme', 'a2');
    expect((await told({ made: rotated, key: other }, 1)).names).toEqual(['a2']);
  });

  it('have no consumer any more once they are removed', async () => {
    const siem = await create('acme', 'siem', ['login.*']);
    await audit.asApi.call(subscriberRpc.removeSubscriber, 'acme', { name: 'siem', by });
    // Whoever is still let in gets nothing.
    await expect(fetched(siem, 1)).rejects.toThrow(/consumer not found/);
    const rpc = audit.asApi.call(subscriberRpc.getSubscriber, 'acme', { name: 'siem' });
    await expect(rpc).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('get their consumers back where NATS lost them, and nobody else keeps one', async () => {
    const siem = await create('acme', 'siem', ['login.*']);
    await tell('acme', 'a1');
    const gone = await create('acme', 'gone', ['login.*']);
    await audit.database.query(`delete from subscribers where name = 'gone'`);
    const manager = await audit.consumersAsOperator();
    await manager.delete(siem.made.nats!.stream, siem.made.nats!.consumer);
    await using _again = await audit.start();
    expect((await eventually(() => told(siem, 1), PATIENCE)).names).toEqual(['a1']);
    await eventually(() => expect(fetched(gone, 1)).rejects.toThrow(/consumer not found/), PATIENCE);
  });

  it('are told about, and not with their keys', async () => {
    const { key } = await create('acme', 'siem', ['login.*']);
    await audit.asApi.call(subscriberRpc.replaySubscriber, 'acme', { name: 'siem', from: { number: 1 }, by });
    await audit.asApi.call(subscriberRpc.removeSubscriber, 'acme', { name: 'siem', by });
    const prefix = 'fairlead.events.acme.audit.subscriber';
    expect(await toldTypes()).toEqual([`${prefix}.created.v1`, `${prefix}.replayed.v1`, `${prefix}.removed.v1`]);
    const bodies = JSON.stringify(await audit.database.query('select body from outbox'));
    expect(bodies).not.toContain(key.seed);
  });
});

describe('what is refused', () => {
  it('a name or a key that is taken, types that there are not, what another tenant has', async () => {
    const { key } = await create('acme', 'siem', ['*']);
    await expect(create('acme', 'siem', ['*'])).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    await expect(create('globex', 'other', ['*'], key)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    await expect(create('acme', 'typo', ['grants.*'])).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    const there = { name: 'siem', by };
    const { publicKey } = createNkey();
    for (const ask of [
      () => audit.asApi.call(subscriberRpc.removeSubscriber, 'globex', there),
      () => audit.asApi.call(subscriberRpc.replaySubscriber, 'globex', { ...there, from: { number: 1 } }),
      () => audit.asApi.call(subscriberRpc.rotateSubscriber, 'globex', { ...there, publicKey }),
    ]) {
      await expect(ask()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    }
    expect((await audit.asApi.call(subscriberRpc.listSubscribers, 'globex', {})).subscribers).toEqual([]);
  });

  it('what somebody changed meanwhile', async () => {
    await create('acme', 'siem', ['*']);
    const stale = audit.asApi.call(subscriberRpc.removeSubscriber, 'acme', { name: 'siem', by, ifRevision: 'old' });
    await expect(stale).rejects.toMatchObject({ code: 'REVISION_CONFLICT' });
  });

  it('one more than a tenant may have', async () => {
    await audit.database.query(
      `insert into subscribers (id, tenant_id, name, kind, types, created_at, nats_public_key)
       select gen_random_uuid(), 'full', 'n' || n, 'nats', '{grant.created}', now(), 'U' || n from generate_series(1, $1) n`,
      [MAX_SUBSCRIBERS],
    );
    await expect(create('full', 'more', ['*'])).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
    await create('acme', 'other', ['*']);
  });
});
