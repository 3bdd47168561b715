import { inTransaction } from '@fairlead/persistence';
import { serviceDatabase, type ServiceDatabase } from '@fairlead/persistence/testing';
import { provisionJetStream } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { silentLogger, type Logger } from '@fairlead/observability';
import { startNats, startPostgres, type PostgresInfo, type Running } from '@fairlead/testbed';
import { eventually, scratchDir, type ScratchDir } from '@fairlead/testing';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { IsNull, type DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { OUTBOX_TABLE_V1, OutboxRelay, OutboxRow, appendEvent, createEvent, createEventPublisher } from './index.js';
import { storedEvents } from './testing/stored-events.js';

class Outbox1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of OUTBOX_TABLE_V1) await runner.query(statement);
  }
  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const source = { role: 'registration', credential: 'registration' } as const;
const gateway = { role: 'gateway', credential: 'gateway-a' } as const;
/** Reading the stream asks for each message by itself: hundreds of round trips, of three processes on a busy machine. */
const READING_MS = 120_000;

let scratch: ScratchDir;
let postgres: Running<PostgresInfo>;
let nats: SecuredNats;
let databases: ServiceDatabase;
let database: DataSource;
let reader: NatsConnection;

beforeAll(async () => {
  scratch = await scratchDir();
  postgres = await startPostgres({ dataDir: scratch.file('pg'), durable: false, log: () => undefined });
  nats = await startSecuredNats(scratch.path);
  reader = await nats.connect({ role: 'operator', credential: 'operator' });
  const schema = { service: 'registration', entities: [OutboxRow], migrations: [Outbox1700000000001] };
  databases = await serviceDatabase(postgres.info.adminUrl, schema);
  database = await databases.migrated();
});
afterAll(async () => {
  await databases?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  await postgres?.stop();
  await scratch?.[Symbol.asyncDispose]();
});

function demoEvent(subject: string): ReturnType<typeof createEvent> {
  return createEvent(source, 'dev.fairlead.import-link.refused.v1', {
    tenantId: 'default',
    subject,
    actor: { kind: 'unknown', id: '' },
    reason: 'GONE',
    clusterId: null,
  });
}

const published = (prefix: string): Promise<string[]> => storedEvents(reader, prefix);

const append = (subject: string): Promise<void> =>
  inTransaction(database, (manager) => appendEvent(manager, demoEvent(subject)));

const relay = (): OutboxRelay =>
  new OutboxRelay({ database, nats: relayConnection, logger: silentLogger, pollMs: 100 });
let relayConnection: NatsConnection;

it('publishes what committed, in order and once, however many relays there are', async () => {
  relayConnection = await nats.connect(source);
  const names = Array.from({ length: 250 }, (_, i) => `a/${String(i).padStart(3, '0')}`);
  for (const name of names) await append(name);
  const rolledBack = inTransaction(database, async (manager) => {
    await appendEvent(manager, demoEvent('a/never'));
    throw new RangeError('no');
  });
  await expect(rolledBack).rejects.toThrow(RangeError);
  {
    await using one = relay();
    one.poke();
    await eventually(async () => expect(await published('a/')).toEqual(names), { timeoutMs: READING_MS });
  }
  await using two = relay();
  await using three = relay();
  // Five at a time: on a busy machine more of them may wait for a connection for longer than anybody is let wait.
  const lane = async (of: number): Promise<void> => {
    for (let i = of; i < 50; i += 5) await append(`b/${i}`);
  };
  await Promise.all([0, 1, 2, 3, 4].map(lane));
  two.poke();
  three.poke();
  await eventually(async () => expect(await published('b/')).toHaveLength(50), { timeoutMs: READING_MS });
  expect(await database.getRepository(OutboxRow).countBy({})).toBe(300);
});

it('survives NATS and Postgres being killed', async () => {
  await using running = relay();
  nats.server.kill('SIGKILL');
  await append('c/1');
  running.poke();
  await nats.server.restart();
  await eventually(async () => expect(await published('c/')).toEqual(['c/1']), { timeoutMs: READING_MS });
  postgres.kill('SIGKILL');
  await postgres.restart();
  await eventually(() => append('c/2'));
  await eventually(async () => expect(await published('c/')).toEqual(['c/1', 'c/2']), { timeoutMs: READING_MS });
});

it('marks nothing as published that another stream took, or nobody', async () => {
  await using plain = await startNats({ dataDir: scratch.file('plain'), log: () => undefined });
  const nc = await connect({ servers: plain.info.url });
  const manager = await jetstreamManager(nc);
  await manager.streams.add({ name: 'OTHER', subjects: ['fairlead.events.>'] });
  await append('e/1');
  const delays: string[] = [];
  const delayed: Logger = { ...silentLogger, log: (_level, event) => void delays.push(event) };
  await using running = new OutboxRelay({ database, nats: nc, logger: delayed, pollMs: 100 });
  running.poke();
  const unsent = (): Promise<number> => database.getRepository(OutboxRow).countBy({ sentAt: IsNull() });
  await eventually(() => expect(delays.length).toBeGreaterThanOrEqual(3));
  expect(await unsent()).toBe(1);
  await manager.streams.delete('OTHER');
  // One may have been on its way.
  const before = delays.length + 1;
  await eventually(() => expect(delays.length).toBeGreaterThan(before), { timeoutMs: READING_MS });
  expect(await unsent()).toBe(1);
  await provisionJetStream(nc);
  await eventually(async () => expect(await unsent()).toBe(0), { timeoutMs: READING_MS });
  expect(await storedEvents(nc, 'e/')).toEqual(['e/1']);
  await nc.close();
});

it('forgets what it published long ago', async () => {
  await using running = new OutboxRelay({ database, nats: relayConnection, logger: silentLogger, keepMs: 0 });
  running.poke();
  await eventually(async () => expect(await database.getRepository(OutboxRow).countBy({})).toBe(0));
});

it('keeps the newest events of a process without a database while NATS is away', async () => {
  const publisher = createEventPublisher(await nats.connect(gateway), gateway, { maxQueued: 3, logger: silentLogger });
  const refuse = (subject: string): void =>
    publisher.publish('dev.fairlead.agent.refused.v1', {
      tenantId: 'default',
      subject,
      actor: { kind: 'unknown', id: '' },
      reason: 'CERTIFICATE_REFUSED',
      clusterId: null,
      gateway: 'gateway-a',
    });
  refuse('d/0');
  await eventually(async () => expect(await published('d/')).toEqual(['d/0']), { timeoutMs: READING_MS });
  // It is in the stream before its publisher knows.
  await eventually(() => expect(publisher.queued).toBe(0));
  await nats.server.stop();
  for (const n of [1, 2, 3, 4, 5]) refuse(`d/${n}`);
  expect([publisher.queued, publisher.dropped]).toEqual([3, 2]);
  await nats.server.restart();
  await eventually(async () => expect(await published('d/')).toEqual(['d/0', 'd/3', 'd/4', 'd/5']), {
    timeoutMs: READING_MS,
  });
  await publisher.close();
});
