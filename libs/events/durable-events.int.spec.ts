import { connectNats, connectionState, provisionJetStream } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { silentLogger } from '@fairlead/observability';
import { startNats } from '@fairlead/testbed';
import { eventually, freeze, scratchDir, type ScratchDir } from '@fairlead/testing';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Envelope, createEvent, createEventPublisher, type EventPublisher, type EventReceipt } from './index.js';
import { publishEvent } from './publish-event.js';
import { startHeldWire, type HeldWire } from './testing/held-wire.js';
import { storedEvents } from './testing/stored-events.js';

const gateway = { role: 'gateway', credential: 'gateway-a' } as const;
const LONG = { deadlineMs: 120_000 };
const EVENTUALLY = { timeoutMs: 120_000 };

let scratch: ScratchDir;
let nats: SecuredNats;
let wire: HeldWire;
let reader: NatsConnection;
let nc: NatsConnection;
let events: EventPublisher;

beforeAll(async () => {
  scratch = await scratchDir();
  nats = await startSecuredNats(scratch.path);
  wire = await startHeldWire(nats.server.info.port);
  reader = await nats.connect({ role: 'operator', credential: 'operator' });
});
afterAll(async () => {
  await wire?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  await scratch?.[Symbol.asyncDispose]();
});

beforeEach(async () => {
  const url = `nats://127.0.0.1:${wire.port}`;
  const signal = AbortSignal.timeout(60_000);
  nc = await connectNats({ ...gateway, url, seedFile: nats.seedFile(gateway), logger: silentLogger, signal });
  events = createEventPublisher(nc, gateway, { logger: silentLogger });
});
afterEach(async () => {
  await events.close();
  await nc.close();
});

const refusal = (subject: string) => ({
  tenantId: 'default',
  subject,
  actor: { kind: 'unknown', id: '' } as const,
  reason: 'CERTIFICATE_REFUSED',
  clusterId: null,
  gateway: 'gateway-a',
});
const tell = (subject: string, by = events): void => by.publish('dev.fairlead.agent.refused.v1', refusal(subject));
const store = (subject: string, options = LONG, by = events): Promise<EventReceipt> =>
  by.publishDurably('dev.fairlead.agent.refused.v1', refusal(subject), options);
/** These and no others are in the stream, once the reader is connected again. */
const expectStored = (prefix: string, subjects: string[], by = reader): Promise<void> =>
  eventually(async () => expect(await storedEvents(by, prefix)).toEqual(subjects), EVENTUALLY);
async function stopServer(): Promise<void> {
  await nats.server.stop();
  await eventually(() => expect(connectionState(nc).connected).toBe(false));
}
const names = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

describe('an event that is waited for', () => {
  it('is stored where its receipt says, in order, among many that nobody waits for', async () => {
    const before = names('a/before-', 150);
    const after = names('a/behind-', 150);
    for (const name of before) tell(name);
    const receipts = [store('a/one'), store('a/two')];
    for (const name of after) tell(name);
    const [one, two] = await Promise.all(receipts);
    expect([one?.duplicate, (two?.sequence ?? 0) - (one?.sequence ?? 0)]).toEqual([false, 1]);
    const stored = await (await jetstreamManager(reader)).streams.getMessage(one!.stream, { seq: one!.sequence });
    expect(stored?.json()).toMatchObject({ subject: 'a/one' });
    await eventually(() => expect(events.queued).toBe(0), EVENTUALLY);
    await expectStored('a/', [...before, 'a/one', 'a/two', ...after]);
  });

  it('is found stored, and not stored twice, when nats-server was killed before it had said so', async () => {
    wire.hold();
    const storing = store('b/one');
    await expectStored('b/', ['b/one']);
    nats.server.kill('SIGKILL');
    await nats.server.restart();
    expect(await storing).toMatchObject({ stream: 'FAIRLEAD_EVENTS', duplicate: true });
    await expectStored('b/', ['b/one']);
  });

  it('is stored after all when nats-server was killed before it had read it', async () => {
    await nc.flush();
    const sentBefore = nc.stats().outMsgs;
    await freeze(nats.server);
    const storing = names('c/', 20).map((name) => store(name));
    await eventually(() => expect(nc.stats().outMsgs).toBeGreaterThan(sentBefore));
    nats.server.kill('SIGKILL');
    await nats.server.restart();
    expect((await Promise.all(storing)).map(({ duplicate }) => duplicate)).toEqual(names('', 20).map(() => false));
    await expectStored('c/', names('c/', 20));
  });
});

it('another gateway cannot have an event dropped, although it knows the id', async () => {
  const gatewayB = { role: 'gateway', credential: 'gateway-b' } as const;
  const other = await nats.connect(gatewayB);
  const theirs = createEvent(gatewayB, 'dev.fairlead.agent.refused.v1', refusal('j/theirs'));
  const ours = createEvent(gateway, 'dev.fairlead.agent.refused.v1', refusal('j/ours'));
  const taken = await jetstream(other).publish(theirs.subject, theirs.body, { msgID: ours.id });
  const receipt = await publishEvent(nc, ours);
  expect([receipt.duplicate, receipt.sequence > taken.seq]).toEqual([false, true]);
  await expectStored('j/', ['j/theirs', 'j/ours']);
});

describe('a deadline', () => {
  it('ends the wait while NATS is away, and what was not sent by then never is', async () => {
    await stopServer();
    await expect(store('d/late', { deadlineMs: 300 })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('not stored within 300 ms'),
    });
    const patient = store('d/patient');
    await nats.server.restart();
    await patient;
    await expectStored('d/', ['d/patient']);
  });

  it('says so where the event may be stored all the same', async () => {
    wire.hold();
    await expect(store('e/one', { deadlineMs: 5_000 })).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await expectStored('e/', ['e/one']);
  });
});

it('while NATS is away newer notifications push out older ones, and none that is waited for', async () => {
  const few = createEventPublisher(nc, gateway, { maxQueued: 3, logger: silentLogger });
  await stopServer();
  tell('f/n0', few);
  const first = store('f/first', LONG, few);
  for (const n of [1, 2, 3, 4]) tell(`f/n${n}`, few);
  expect([few.queued, few.dropped]).toEqual([3, 3]);
  const others = [store('f/second', LONG, few), store('f/third', LONG, few)];
  expect([few.queued, few.dropped]).toEqual([3, 5]);
  await expect(store('f/fourth', LONG, few)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  tell('f/n5', few);
  expect([few.queued, few.dropped]).toEqual([3, 6]);
  await nats.server.restart();
  await Promise.all([first, ...others]);
  await expectStored('f/', ['f/first', 'f/second', 'f/third']);
  await few.close();
});

describe('a process that stops', () => {
  it('stores first what waits', async () => {
    for (const name of names('g/', 300)) tell(name);
    const storing = store('g/last');
    await events.close();
    expect(await storing).toMatchObject({ duplicate: false });
    await expectStored('g/', [...names('g/', 300), 'g/last']);
    await expect(store('g/later')).rejects.toMatchObject({ code: 'DRAINING' });
  });

  it('does not wait for a nats-server that hangs, and says of each event whether it may be stored', async () => {
    await nc.flush();
    const sentBefore = nc.stats().outMsgs;
    await freeze(nats.server);
    try {
      const sent = store('h/sent');
      await eventually(() => expect(nc.stats().outMsgs).toBeGreaterThan(sentBefore));
      const queued = store('h/queued');
      const ends = Promise.allSettled([sent, queued]);
      await events.close();
      expect(events.queued).toBe(0);
      expect((await ends).map((end) => (end as PromiseRejectedResult).reason as unknown)).toMatchObject([
        { code: 'DEADLINE_EXCEEDED' },
        { code: 'DRAINING' },
      ]);
    } finally {
      // The next tests need it.
      nats.server.kill('SIGCONT');
    }
    await expectStored('h/', ['h/sent']);
  });
});

const FORGED = [
  '{"stream":"OTHER","seq":1}',
  '{"stream":"FAIRLEAD_EVENTS"}',
  '{"stream":"FAIRLEAD_EVENTS","seq":0}',
  '{"stream":"FAIRLEAD_EVENTS","seq":1.5}',
  '{"stream":"FAIRLEAD_EVENTS","seq":"1"}',
  '{"seq":1}',
  '{}',
];

describe('what is no receipt of the stream of events', () => {
  it('is not believed, nor does another stream get the event', async () => {
    await using plain = await startNats({ dataDir: scratch.file('plain'), log: () => undefined });
    const there = await connect({ servers: plain.info.url });
    const publisher = createEventPublisher(there, gateway, { logger: silentLogger });
    const forger = there.subscribe('fairlead.events.>', {
      callback: (_error, message) => void message.respond(Envelope.parse(message.json()).subject.slice('i/'.length)),
    });
    // Each is looked at below, while later ones have failed already.
    const storing = FORGED.map((answer) => store(`i/${answer}`, { deadlineMs: 5_000 }, publisher));
    const refused = { code: 'DEADLINE_EXCEEDED', cause: { code: 'PROTOCOL_ERROR' } };
    for (const receipt of storing) await expect(receipt).rejects.toMatchObject(refused);
    forger.unsubscribe();
    await expect(store('i/nobody', { deadlineMs: 5_000 }, publisher)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const manager = await jetstreamManager(there);
    await manager.streams.add({ name: 'OTHER', subjects: ['fairlead.events.>'] });
    await expect(store('i/other', { deadlineMs: 5_000 }, publisher)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const patient = store('i/right', LONG, publisher);
    await manager.streams.delete('OTHER');
    await provisionJetStream(there);
    await patient;
    await expectStored('', ['i/right'], there);
    await publisher.close();
    await there.close();
  });
});
