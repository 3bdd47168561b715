import { auditSubject } from '@fairlead/contracts';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AUDIT_STREAM, EVENT_STREAM, StreamConsumer, type Holder } from '../index.js';
import { connectedNats, gatewayA, gatewayB, operator } from '../testing/secured-nats.js';

const audit = { role: 'audit', credential: 'audit' } as const;

let nats: Awaited<ReturnType<typeof connectedNats>>;
let consumer: StreamConsumer;
const as = (holder: Holder): NatsConnection => nats.as(holder);

beforeAll(async () => {
  nats = await connectedNats([gatewayA, gatewayB, audit, operator]);
  consumer = new StreamConsumer({
    nats: as(audit),
    stream: AUDIT_STREAM,
    consumer: 'audit',
    subjects: 'fairlead.audit.',
  });
});
afterAll(() => nats?.[Symbol.asyncDispose]());

const next = (waitMs = 5_000) => consumer.next({ messages: 10, bytes: 1_000_000, waitMs });
const publish = (holder: Holder, text: string) => jetstream(as(holder)).publish(auditSubject(holder.credential), text);
const waiting = async (): Promise<number> =>
  (await (await jetstreamManager(as(operator))).streams.info(AUDIT_STREAM)).state.messages;

it('gives what is there, in order and with the subject that NATS vouches for, and none where there is none', async () => {
  expect(await next(100)).toEqual([]);
  for (const text of ['1', '2', '3']) await publish(gatewayA, text);
  await publish(gatewayB, '4');
  const messages = await next();
  expect(messages.map(({ subject, data, deliveries }) => [subject, Buffer.from(data).toString(), deliveries])).toEqual([
    ['fairlead.audit.gateway-a', '1', 1],
    ['fairlead.audit.gateway-a', '2', 1],
    ['fairlead.audit.gateway-a', '3', 1],
    ['fairlead.audit.gateway-b', '4', 1],
  ]);
  for (const message of messages) message.ack();
  await eventually(async () => expect(await waiting()).toBe(0));
});

it('waits for one that comes later', async () => {
  const coming = next();
  await publish(gatewayA, 'later');
  const [message] = await coming;
  expect(Buffer.from(message!.data).toString()).toBe('later');
  message!.ack();
});

it('gives again what is to come again, and never what was ended', async () => {
  await publish(gatewayA, 'again');
  const [first] = await next();
  first!.again(1);
  const [second] = await next();
  expect(second).toMatchObject({ deliveries: 2, sequence: first!.sequence });
  second!.end('nobody can read it');
  await eventually(async () => expect(await waiting()).toBe(0));
  expect(await next(100)).toEqual([]);
});

it('takes no message for a status, whatever its headers say', async () => {
  await jetstream(as(gatewayA)).publish(auditSubject('gateway-a'), 'x', { headers: headers(408, 'Request Timeout') });
  const [message] = await next();
  expect(Buffer.from(message!.data).toString()).toBe('x');
  message!.ack();
});

it('says what is missing', async () => {
  const absent = new StreamConsumer({
    nats: as(audit),
    stream: EVENT_STREAM,
    consumer: 'other',
    subjects: 'fairlead.events.',
  });
  const asked = absent.next({ messages: 1, bytes: 1_000, waitMs: 100 });
  await expect(asked).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});
