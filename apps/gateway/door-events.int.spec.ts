import { once } from 'node:events';
import { connect } from 'node:http2';
import { createEventPublisher, type EventPublisher } from '@fairlead/events/publisher';
import {
  collectCrashes,
  startInstallation,
  type Crashes,
  type Replica,
  type TestInstallation,
} from '@fairlead/installation';
import type { Logger } from '@fairlead/observability';
import { silentLogger } from '@fairlead/observability';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { gatewayEvents } from './gateway-events.js';

let installation: TestInstallation;
let replica: Replica;
let publisher: EventPublisher;
const complaints: string[] = [];
const logger: Logger = { ...silentLogger, error: (event) => void complaints.push(event) };
let crashes: Crashes;

// As the process does it: what the doors report goes into events of the catalogue.
beforeAll(async () => {
  crashes = collectCrashes();
  installation = await startInstallation();
  replica = await installation.startReplica('gateway-a', {
    logger,
    events: (nc, name) => {
      publisher = createEventPublisher(nc, { role: 'gateway', credential: name }, { logger });
      return gatewayEvents(publisher, name, logger);
    },
  });
});

afterAll(async () => {
  await publisher?.close();
  await installation?.[Symbol.asyncDispose]();
  crashes[Symbol.dispose]();
});

async function ask(method: string, path: string): Promise<number | undefined> {
  const session = connect(`https://127.0.0.1:${replica.gateway.door.port}`, { ca: [...installation.authority.roots] });
  const stream = session.request({ ':method': method, ':path': path });
  const [headers] = (await once(stream, 'response')) as [{ readonly ':status'?: number }];
  stream.resume();
  session.close();
  return headers[':status'];
}

it.each([17, 16_000])('answers the unauthenticated with a method of %d letters, and reports it', async (length) => {
  const before = replica.refusals.length;
  expect(await ask('A'.repeat(length), '/')).toBe(401);
  expect(await ask('GET', '/')).toBe(401);
  expect(replica.refusals.length - before).toBe(2);
  expect([complaints, crashes.seen]).toEqual([[], []]);
});

it('answers the unauthenticated with a path as long as a head may be', async () => {
  expect(await ask('GET', `/clusters/${'a'.repeat(32_000)}/api`)).toBe(401);
  expect([complaints, crashes.seen]).toEqual([[], []]);
});
