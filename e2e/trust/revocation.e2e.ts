import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { eventually, startRecordingRelay } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectThrough, createDoorClient, type DoorClient } from '../support/connect-door.js';
import { readEvents, type RecordedEvent } from '../support/events.js';
import { fairlead } from '../support/fairlead.js';
import { invite, readInvitation, startLooseAgent } from '../support/loose-agent.js';
import { queryDatabase } from '../support/service-database.js';
import { sessionsOf, showCluster, startTestStack, type TestStack } from '../support/test-stack.js';
import { watchKubectl } from '../support/watching.js';

/** From the command's end on; the command itself begins and ends a Node process. By the replicas' word: this process may be late to see it. */
const CUT_WITHIN_MS = 2_000;
/** From the moment on when nats-server takes connections again, by the replicas' word, too. */
const CUT_AFTER_OUTAGE_MS = 5_000;
const SEEN_WITHIN_MS = 20_000;

let running: TestStack;
let echo: Server;
let client: DoorClient;

beforeAll(async () => {
  echo = createServer((socket) => void socket.on('error', () => undefined).pipe(socket));
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
  running = await startTestStack({ links: 2, demoTargets: [target()] });
  await eventually(async () => {
    for (const { name, healthUrl } of running.stack.gateways) {
      if ((await sessionsOf(healthUrl)) !== 1) throw new Error(`${name} does not hold one link`);
    }
  });
  client = await createDoorClient(running.stack, 'prometheus', ['demo']);
});
afterAll(async () => {
  await client?.[Symbol.asyncDispose]();
  await running?.[Symbol.asyncDispose]();
  echo?.close();
});

const target = (): string => `127.0.0.1:${(echo.address() as AddressInfo).port}`;

/** A raw tunnel that has carried bytes both ways. Gateways learn of a new client a moment after it was made. */
async function carrying(connectUrl: string): Promise<TLSSocket> {
  const { status, socket } = await eventually(async () => {
    const connected = await connectThrough(connectUrl, client, target());
    if (connected.status !== 200) throw new Error(`answered ${connected.status}`);
    return connected;
  });
  expect(status).toBe(200);
  socket.on('error', () => undefined);
  socket.write('there and back');
  await once(socket, 'data');
  socket.resume();
  return socket;
}

/** Rejects if it is still open then. (Not `once`, which would take the reset itself for a failure.) */
function closedBy(socket: TLSSocket, deadline: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
    deadline.addEventListener('abort', () => reject(new Error('the tunnel was not cut in time')), { once: true });
  });
}

interface Ending {
  readonly event: 'agent.revoked' | 'connect.closed';
  readonly time: string;
  readonly clusterId?: string;
}

async function endingsAt(gateway: string): Promise<Ending[]> {
  const log = await readFile(running.stack.process(gateway).logPath, 'utf8');
  const lines = log.split('\n').filter((line) => /"event":"(?:agent\.revoked|connect\.closed)"/.test(line));
  return lines.map((line) => JSON.parse(line) as Ending);
}

const lastMs = (endings: readonly Ending[]): number => Math.max(...endings.map(({ time }) => Date.parse(time)));

/** How long after that moment a replica ended a link and a tunnel. Rejects while it has not done both. */
async function endedAfterMs(gateway: string, sinceMs: number): Promise<number> {
  const endings = await endingsAt(gateway);
  const kinds = new Set(endings.map(({ event }) => event));
  if (kinds.size < 2) throw new Error(`${gateway} ended: ${[...kinds].join(', ')}`);
  return lastMs(endings) - sinceMs;
}

/** How long after that moment the last link of a cluster was ended, whoever held it. Rejects while none was. */
async function revokedAfterMs(clusterId: string, sinceMs: number): Promise<number> {
  const all = await Promise.all(running.stack.gateways.map(({ name }) => endingsAt(name)));
  const endings = all.flat().filter((ending) => ending.event === 'agent.revoked' && ending.clusterId === clusterId);
  if (endings.length === 0) throw new Error('no replica has ended a link of it');
  return lastMs(endings) - sinceMs;
}

describe('a cluster that is cut off', () => {
  it('loses watches and raw tunnels through both replicas within 2 s, and its agent is told why, and waits', async () => {
    const { gateways } = running.stack;
    await using watchA = watchKubectl(running.stack, 'gateway-a', ['get', 'ns', '-w', '--output-watch-events']);
    await using watchB = watchKubectl(running.stack, 'gateway-b', ['get', 'ns', '-w', '--output-watch-events']);
    await Promise.all([watchA, watchB].map((each) => each.line(/ADDED +default/, 20_000)));
    const tunnels = await Promise.all(gateways.map(({ connectUrl }) => carrying(connectUrl)));
    const reason = 'its laptop was stolen';
    expect(await fairlead(running.stack, 'cluster', 'revoke', 'demo', '--reason', reason, '--yes')).toBe(
      'cluster demo cut off\n',
    );
    const revokedMs = Date.now();
    const deadline = AbortSignal.timeout(SEEN_WITHIN_MS);
    await Promise.all(tunnels.map((each) => closedBy(each, deadline)));
    for (const { name, healthUrl } of gateways) {
      expect(await eventually(() => endedAfterMs(name, revokedMs))).toBeLessThanOrEqual(CUT_WITHIN_MS);
      await eventually(async () => expect(await sessionsOf(healthUrl)).toBe(0));
    }
    // kubectl has its own idea of when a watch is over; that it ends at all is what counts for it.
    await Promise.all([watchA, watchB].map((each) => each.ended(20_000)));
    const refused = await running.stack.kubectl(['get', 'ns'], { context: 'demo@gateway-a', timeoutMs: 30_000 });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('agent')]);
    const events = await eventually(async () => {
      const found = (await readEvents(running.stack)).filter(({ type }) => type === 'dev.fairlead.cluster.revoked.v1');
      if (found.length === 0) throw new Error('the revocation left no event yet');
      return found;
    });
    expect(events.map(({ data }) => [data['name'], data['why']])).toEqual([['demo', reason]]);
  });

  it('is not brought back by what it held, and does not hammer; a new manifest brings it back', async () => {
    const invited = await invite(running.stack, 'lost');
    await using agent = await startLooseAgent(running.stack, { invitation: invited });
    await agent.event('link.established');
    const unused = readInvitation(await fairlead(running.stack, 'cluster', 'import', 'lost'));
    await fairlead(running.stack, 'cluster', 'revoke', 'lost', '--reason', 'test', '--yes');
    expect(await agent.event('link.failed')).toMatchObject({ code: 'CERTIFICATE_REVOKED', level: 'error' });
    await using thief = await startLooseAgent(running.stack, { invitation: unused });
    expect(await thief.event('agent.enrolment.failed')).toMatchObject({ code: 'TOKEN_REVOKED' });
    const tries = agent.watch.lines.filter((line) => line.includes('CERTIFICATE_REVOKED'));
    expect(tries.length).toBeLessThanOrEqual(2);
    const fresh = readInvitation(await fairlead(running.stack, 'cluster', 'import', 'lost'));
    await using back = await startLooseAgent(running.stack, { invitation: fresh });
    await back.event('link.established');
  });
});

interface Listed {
  readonly serial: string;
  readonly generation: number;
  readonly revokedAt: string | null;
}

async function certificatesOf(cluster: string): Promise<Listed[]> {
  const list = await fairlead(running.stack, 'certificate', 'list', cluster, '-o', 'json');
  return (JSON.parse(list) as { certificates: Listed[] }).certificates;
}

describe('an identity that is used from a second place', () => {
  it('is shown and told once, though the thief comes and goes; revoked, it ends for both, and its owner comes back', async () => {
    const invited = await invite(running.stack, 'stolen');
    await using owner = await startLooseAgent(running.stack, { invitation: invited });
    await owner.event('link.established');
    const identity = await owner.identity();
    await using elsewhere = await startRecordingRelay({ localAddress: '127.0.0.2' });
    elsewhere.leadTo(running.stack.gateways[1]?.linkAddress ?? '');
    const invitation = { ...invited, token: '', endpoints: elsewhere.address };
    const thief = await startLooseAgent(running.stack, { invitation, identity });
    await thief.event('link.established');
    const told = await eventually(() => duplicatesOf('stolen', 1), { timeoutMs: 60_000, intervalMs: 1_000 });
    expect(told[0]?.data).toMatchObject({ subject: expect.stringMatching(/^cluster\//) as string, name: 'stolen' });
    expect(told[0]?.data['agents']).toMatchObject([{ addresses: ['127.0.0.1'] }, { addresses: ['127.0.0.2'] }]);
    expect(await fairlead(running.stack, 'cluster', 'show', 'stolen')).toMatch(
      /agent +\w{8} from 127\.0\.0\.1 since \S+, \w{8} from 127\.0\.0\.2 since[^]*somebody has a copy of its key/,
    );
    await thief[Symbol.asyncDispose]();
    await using again = await startLooseAgent(running.stack, { invitation, identity });
    await again.event('link.established');
    const [{ serial } = { serial: '' }] = await certificatesOf('stolen');
    await fairlead(running.stack, 'certificate', 'revoke', serial, '--reason', 'used from a second place', '--yes');
    for (const each of [owner, again]) {
      expect(await each.event('link.failed')).toMatchObject({ code: 'CERTIFICATE_REVOKED' });
    }
    // What the owner has and the thief has not: the way to its cluster, by which a new manifest comes.
    const fresh = readInvitation(await fairlead(running.stack, 'cluster', 'import', 'stolen'));
    await using back = await startLooseAgent(running.stack, { invitation: fresh });
    await back.event('link.established');
    expect((await certificatesOf('stolen')).filter(({ revokedAt }) => revokedAt === null)).toMatchObject([
      { generation: 2 },
    ]);
    expect(await duplicatesOf('stolen', 1)).toHaveLength(1);
  });
});

/** Rejects while there are fewer. */
async function duplicatesOf(name: string, count: number): Promise<RecordedEvent[]> {
  const events = await readEvents(running.stack);
  const found = events.filter(({ type, data }) => type === 'dev.fairlead.agent.duplicated.v1' && data['name'] === name);
  if (found.length < count) throw new Error(`${found.length} events of a duplicate`);
  return found;
}

it('one certificate is revoked by its serial number', async () => {
  const invited = await invite(running.stack, 'copied');
  await using agent = await startLooseAgent(running.stack, { invitation: invited });
  await agent.event('link.established');
  const certificates = await certificatesOf('copied');
  expect(certificates).toMatchObject([{ purpose: 'agent', generation: 1, revokedAt: null }]);
  const serial = certificates[0]?.serial ?? '';
  await fairlead(running.stack, 'certificate', 'revoke', serial, '--reason', 'copied', '--yes');
  expect(await agent.event('link.failed')).toMatchObject({ code: 'CERTIFICATE_REVOKED' });
  expect(await fairlead(running.stack, 'certificate', 'list', 'copied')).toMatch(/ revoked \S+: copied\n$/);
});

it('what was revoked and not told when NATS went is told within 5 s of its return', async () => {
  const invitation = await invite(running.stack, 'untold');
  const { id } = await showCluster(running.stack, 'untold');
  await using agent = await startLooseAgent(running.stack, { invitation });
  await agent.event('link.established');
  const nats = running.stack.process('nats');
  nats.kill('SIGKILL');
  await nats.exited;
  // As the keys service leaves it if NATS goes right after its commit.
  await queryDatabase(
    running.stack,
    'keys',
    `insert into keys.revocations (id, tenant_id, cluster_id, through_generation, reason, revoked_at)
     values (gen_random_uuid(), 'default', $1, 1, 'test', now())`,
    [id],
  );
  expect(agent.watch.lines.some((line) => line.includes('"event":"link.lost"'))).toBe(false);
  await nats.restart();
  const backMs = Date.now();
  await agent.event('link.lost', SEEN_WITHIN_MS);
  expect(await eventually(() => revokedAfterMs(id, backMs))).toBeLessThanOrEqual(CUT_AFTER_OUTAGE_MS);
  expect(await agent.event('link.failed')).toMatchObject({ code: 'CERTIFICATE_REVOKED' });
});
