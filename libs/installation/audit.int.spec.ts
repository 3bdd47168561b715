import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AuditBatch, type AuditRecord, type AuditedPassage } from '@fairlead/contracts';
import { eventually, freeze, scratchDir, type ScratchDir } from '@fairlead/testing';
import {
  startRecordingApiServer,
  startTcpTarget,
  type RecordingApiServer,
  type TcpTarget,
} from '@fairlead/tunnel/testing';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { auditStream, passagesIn } from './audited-passages.js';
import { clientCertificate, connectThrough, type ConnectAnswer } from './connect-client.js';
import { callDoor, untilAnswered, type DoorAnswer, type DoorCall } from './kube-client.js';
import { rawRequest } from './raw-client.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';
import type { RunningAgent } from './test-agent.js';

const MIB = 1024 ** 2;
/** However fast the machine is, what is told of 17 s fits in the part of the spool that reads may fill. */
const BETWEEN_WRITES_MS = 150;
/** Whoever hands on what is in the spool waits longer each time NATS is away. */
const PATIENT = { timeoutMs: 60_000 };
const PODS = '/clusters/demo/api/v1/namespaces/shop/pods';
const EXEC = [
  `GET ${PODS}/web/exec?command=ls&command=-l&container=app&stdin=true HTTP/1.1`,
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];

let scratch: ScratchDir;
let installation: TestInstallation;
let api: RecordingApiServer;
let target: TcpTarget;
let replica: Replica;
let agent: RunningAgent;
let reader: NatsConnection;
let through: () => Promise<ConnectAnswer>;

beforeAll(async () => {
  scratch = await scratchDir();
  installation = await startInstallation();
  target = await startTcpTarget();
  api = await startRecordingApiServer(installation.authority);
  reader = await installation.nats.connectReader();
  replica = await installation.startReplica('gateway-a', {
    audit: { dir: scratch.file('spool'), maxBytes: MIB, policy: 'required' },
    allowEgress: [`demo@127.0.0.1:${target.port}`],
  });
  agent = await installation.startAgent({
    replicas: [replica],
    apiPort: api.port,
    allowTargets: ['127.0.0.1:*'],
    egress: [{ host: '127.0.0.1', port: target.port }],
  });
  const { clientId } = await installation.addClient([installation.cluster]);
  const certificate = await clientCertificate(installation.authority, clientId);
  through = () =>
    connectThrough(replica, { authority: installation.authority, certificate, target: `127.0.0.1:${target.port}` });
  await untilAnswered(installation, replica);
  await eventually(async () => (await through()).plain.resetAndDestroy());
});

afterAll(async () => {
  installation?.nats.server.kill('SIGCONT');
  await installation?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
  await target?.[Symbol.asyncDispose]();
  await scratch?.[Symbol.asyncDispose]();
});

beforeEach(() => {
  api.requests.length = 0;
  api.handle = (_request, response) => void response.end('{}');
  target.handle = (socket) => void socket.pipe(socket);
});

const call = (asked: DoorCall): Promise<DoorAnswer> => callDoor(installation, replica, asked);
const write = (name: string): Promise<DoorAnswer> => call({ method: 'PUT', path: `${PODS}/${name}`, body: '{}' });
const recorded = (): Promise<AuditRecord[]> => auditStream(reader, 'gateway-a');

/** Once there are so many of those that are meant. */
function audited(count: number, isMeant: (record: AuditedPassage) => boolean): Promise<AuditedPassage[]> {
  return eventually(async () => {
    const found = passagesIn(await recorded()).filter(isMeant);
    expect(found).toHaveLength(count);
    return found;
  }, PATIENT);
}

/** What the spool has on the disk now. */
function spooled(): string {
  const dir = scratch.file('spool');
  const logs = readdirSync(dir).filter((name) => name.endsWith('.log'));
  return logs.map((name) => readFileSync(join(dir, name), 'utf8')).join('');
}

const named = (name: string) => (record: AuditedPassage) => record.resource?.name === name;

describe('what goes through the doors is on record', () => {
  it('a read once, when it is over', async () => {
    expect((await call({ path: `${PODS}/read-0?pretty=a-secret` })).status).toBe(200);
    const [outcome] = await audited(1, named('read-0'));
    expect(outcome).toMatchObject({
      phase: 'outcome',
      tenantId: 'default',
      door: 'kube-api',
      kind: 'request',
      owner: 'gateway-a',
      clusterId: installation.cluster.clusterId,
      cluster: 'demo',
      identity: { kind: 'user', name: 'admin', proof: { kind: 'token' } },
      method: 'GET',
      resource: { verb: 'get', apiGroup: '', resource: 'pods', subresource: '', namespace: 'shop', name: 'read-0' },
      url: null,
      stream: null,
      decision: 'allowed',
      status: 200,
      cause: 'COMPLETE',
    });
    expect(JSON.stringify(outcome)).not.toContain('a-secret');
  });

  it('a write twice: its intent is on the disk before the cluster hears of it', async () => {
    let before = '';
    api.handle = (request, response) => {
      const id = String(request.headers['audit-id']);
      before =
        spooled()
          .split('\n')
          .find((line) => line.includes(id)) ?? '';
      response.end('{}');
    };
    expect((await write('write-0')).status).toBe(200);
    expect(JSON.parse(before.split(' ').slice(2).join(' '))).toMatchObject({ phase: 'intent', cause: 'OPEN' });
    const [intent, outcome] = await audited(2, named('write-0'));
    expect([intent?.phase, outcome?.phase]).toEqual(['intent', 'outcome']);
    expect(intent?.id).toBe(outcome?.id);
    expect(outcome).toMatchObject({ resource: { verb: 'update' }, status: 200, bytesUp: 2 });
  });

  it('under the name that the client is told, whatever the far end calls it', async () => {
    api.handle = (_request, response) => void response.setHeader('Audit-ID', ['theirs', 'too']).end('{}');
    const refused = '/clusters/none/api/v1/namespaces/shop/pods/told-refused';
    const answers = [
      await call({ path: `${PODS}/told-read` }),
      await write('told-write'),
      await call({ path: refused }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404]);
    const told = answers.map(({ headers }) => headers['audit-id']);
    const outcomes = await audited(
      3,
      ({ phase, resource }) => phase === 'outcome' && resource?.name.startsWith('told-') === true,
    );
    expect(outcomes.map(({ id }) => id)).toEqual(told);
  });

  it('a shell with its command, the stream’s kind, and both ends', async () => {
    expect(await rawRequest(installation, replica, EXEC)).toContain('HTTP/1.1 403');
    const [intent, outcome] = await audited(2, ({ kind }) => kind === 'exec');
    expect(intent).toMatchObject({
      phase: 'intent',
      stream: { protocol: 'websocket', container: 'app', command: ['ls', '-l'], stdin: true, tty: false },
      resource: { resource: 'pods', subresource: 'exec', name: 'web' },
    });
    expect(outcome).toMatchObject({ phase: 'outcome', id: intent?.id, status: 403, decision: 'allowed' });
  });

  it('a shell that is refused at the door as a shell, with its command, as an event, too', async () => {
    const carol = { ...installation, token: await installation.addLogin('carol') };
    const asked = EXEC.map((line) => line.replace('/web/', '/refused-exec/'));
    const before = replica.streams.length;
    await eventually(async () => expect(await rawRequest(carol, replica, asked)).toContain('HTTP/1.1 404'));
    await installation.putGrants({ kind: 'user', name: 'carol' }, { narrowing: { verbs: ['get', 'list', 'watch'] } });
    await eventually(async () => expect(await rawRequest(carol, replica, asked)).toContain('HTTP/1.1 403'));
    const told = replica.streams.slice(before);
    const event = { phase: 'refused', user: 'carol', clusterId: installation.cluster.clusterId, atDoor: true };
    expect(told.find(({ reason }) => reason === 'NOT_FOUND')).toMatchObject({ ...event, status: 404 });
    expect(told.at(-1)).toMatchObject({
      ...event,
      reason: 'FORBIDDEN',
      status: 403,
      stream: { command: ['ls', '-l'] },
    });
    const [record] = await audited(1, ({ resource, status }) => resource?.name === 'refused-exec' && status === 403);
    expect(record).toMatchObject({
      kind: 'exec',
      method: 'GET',
      resource: { verb: 'create', subresource: 'exec' },
      stream: { protocol: 'websocket', container: 'app', command: ['ls', '-l'], stdin: true, tty: false },
      decision: 'refused',
    });
  });

  it('a tunnel of the CONNECT door and a connection out of a cluster', async () => {
    const before = passagesIn(await recorded()).filter(({ kind }) => kind === 'tunnel').length;
    const { status, socket, plain } = await through();
    expect(status).toBe(200);
    await audited(before + 1, ({ kind }) => kind === 'tunnel');
    socket.destroy();
    plain.destroy();
    const tunnels = await audited(before + 2, ({ kind }) => kind === 'tunnel');
    expect(tunnels.at(-1)).toMatchObject({ identity: { kind: 'client' }, target: `127.0.0.1:${target.port}` });
    const out = connect(agent.egressPorts[0] ?? 0, '127.0.0.1');
    out.write('hello');
    await once(out, 'data');
    out.destroy();
    const [intent, outcome] = await audited(2, ({ kind }) => kind === 'egress');
    expect([intent?.phase, outcome?.phase, outcome?.identity?.kind]).toEqual(['intent', 'outcome', 'agent']);
  });

  it('a refusal, whoever it was', async () => {
    expect((await call({ path: PODS, token: null })).status).toBe(401);
    expect((await call({ path: '/clusters/none/api/v1/namespaces/shop/pods/refused-0' })).status).toBe(404);
    const [unauthenticated] = await audited(1, ({ status }) => status === 401);
    expect(unauthenticated).toMatchObject({ identity: null, tenantId: '_', cluster: 'demo', cause: 'UNAUTHENTICATED' });
    const [known] = await audited(1, named('refused-0'));
    expect(known).toMatchObject({ decision: 'refused', status: 404, identity: { name: 'admin' }, clusterId: null });
  });
});

it('another gateway cannot have records dropped, although it knows their epoch and numbers', async () => {
  const { epoch, acknowledged } = JSON.parse(readFileSync(join(scratch.file('spool'), 'state.json'), 'utf8')) as {
    epoch: string;
    acknowledged: number;
  };
  const other = await installation.nats.connect({ role: 'gateway', credential: 'gateway-b' });
  const next = Array.from({ length: 12 }, (_none, at) => acknowledged + 1 + at);
  const ranges = next.flatMap((first) => next.filter((last) => last >= first).map((last) => `${first}-${last}`));
  for (const range of ranges) {
    const batch = { epoch: '0'.repeat(32), firstSeq: 1, records: [{}] };
    const msgID = `gateway-a.${epoch}.${range}`;
    await jetstream(other).publish('fairlead.audit.gateway-b', JSON.stringify(batch), { msgID });
  }
  expect((await write('suppressed-0')).status).toBe(200);
  await audited(2, named('suppressed-0'));
  // Nor in any other way: no message has an id.
  const { streams } = await jetstreamManager(reader);
  const last = await streams.getMessage('FAIRLEAD_AUDIT', { last_by_subj: 'fairlead.audit.gateway-a' });
  expect([...(last?.header.keys() ?? [])]).not.toContain('Nats-Msg-Id');
});

interface Frozen {
  /** Each with a read before it. */
  readonly writes: number;
  readonly refused: readonly string[];
  readonly slowestReadMs: number;
}

/** Reads and writes while NATS stands still, and for a while when it is back. */
async function throughFreeze(prefix: string, frozenMs: number): Promise<Frozen> {
  let writes = 0;
  let slowestReadMs = 0;
  const refused: string[] = [];
  const during = async (ms: number): Promise<void> => {
    for (const until = performance.now() + ms; performance.now() < until; await sleep(BETWEEN_WRITES_MS)) {
      const began = performance.now();
      await call({ path: `${PODS}/${prefix}read` });
      slowestReadMs = Math.max(slowestReadMs, performance.now() - began);
      const { status, body } = await write(`${prefix}${writes}`);
      writes += 1;
      if (status !== 200) refused.push(body);
    }
  };
  await freeze(installation.nats.server);
  await during(frozenMs);
  installation.nats.server.kill('SIGCONT');
  await during(3_000);
  return { writes, refused, slowestReadMs };
}

describe('while NATS is away', () => {
  // Its connections are given up after 15 s at most.
  it('and back, frozen for longer than connections are held, nothing waits and nothing is lost', async () => {
    const { writes, refused, slowestReadMs } = await throughFreeze('frozen-', 17_000);
    expect(refused).toEqual([]);
    // Whoever waited for NATS would wait for a timeout of 5 s, or the 17 s until it is back.
    expect(slowestReadMs).toBeLessThan(4_500);
    await audited(3 * writes, ({ resource }) => resource?.name.startsWith('frozen-') === true);
  });

  it('for so long that the spool is full, reads go on, nothing that may change anything does, and what was lost is counted', async () => {
    await freeze(installation.nats.server);
    let answer = await write('full-0');
    for (let more = 1; answer.status === 200 && more < 5_000; more += 1) {
      const many = Array.from({ length: 20 }, (_none, at) => call({ path: `${PODS}/fill-${more}-${at}` }));
      expect((await Promise.all(many)).every(({ status }) => status === 200)).toBe(true);
      // Only writes fill what is kept for them.
      answer = await write(`full-${more}`);
    }
    const refusal = JSON.parse(answer.body) as object;
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
    expect(refusal).toMatchObject({ kind: 'Status', reason: 'ServiceUnavailable' });
    expect(answer.body).toContain('the audit spool is full (1048576 bytes)');
    api.requests.length = 0;
    expect((await call({ path: PODS })).status).toBe(200);
    const last = await write('full-refused');
    expect([last.status, last.headers['audit-id']]).toEqual([503, expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    expect(await rawRequest(installation, replica, EXEC)).toContain('HTTP/1.1 503');
    expect((await through()).head).toContain('503 Service Unavailable (AUDIT_UNAVAILABLE)');
    expect(api.requests.map(({ method }) => method)).toEqual(['GET']);
    installation.nats.server.kill('SIGCONT');
    await eventually(async () => expect((await write('full-again')).status).toBe(200), PATIENT);
    // It says so in parts, as there is room.
    await eventually(async () => {
      const counts = (await recorded()).flatMap((each) => (each.phase === 'lost' ? [each.count] : []));
      const metric = await replica.registry.getSingleMetric('fairlead_gateway_audit_lost_total')?.get();
      expect(counts.length).toBeGreaterThan(0);
      expect(counts.reduce((sum, each) => sum + each, 0)).toBe(metric?.values[0]?.value);
    }, PATIENT);
  });
});

it('a replica that stops says when it has handed on everything, and that this was all', async () => {
  await agent.stop();
  await replica.stop();
  const { streams } = await jetstreamManager(reader);
  const last = await streams.getMessage('FAIRLEAD_AUDIT', { last_by_subj: 'fairlead.audit.gateway-a' });
  const { firstSeq, records, ends } = AuditBatch.parse(last?.json());
  expect([firstSeq, records, ends]).toEqual([(await recorded()).length + 1, [], true]);
});
