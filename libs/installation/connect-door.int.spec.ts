import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { eventually } from '@fairlead/testing';
import type { ClientEntry } from '@fairlead/contracts';
import { readAll, sha256, startTcpTarget, type TcpTarget } from '@fairlead/tunnel/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { collectCrashes, type Crashes } from './crashes.js';
import {
  clientCertificate,
  connectThrough,
  type ClientCertificate,
  type ConnectAnswer,
  type ConnectCall,
} from './connect-client.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

let installation: TestInstallation;
let target: TcpTarget;
let a: Replica;
let b: Replica;
let client: ClientEntry;
let certificate: ClientCertificate;
const opened: ConnectAnswer[] = [];
let crashes: Crashes;
/** What names resolve to in the cluster. */
const NAMES: Record<string, string[]> = {
  'echo.shop.svc': ['127.0.0.1'],
  'two.shop.svc': ['169.254.169.254', '127.0.0.1'],
  'rebound.shop.svc': ['169.254.169.254', 'fd00:ec2::254', '::ffff:169.254.169.254'],
};

beforeAll(async () => {
  crashes = collectCrashes();
  installation = await startInstallation();
  target = await startTcpTarget();
  [a, b] = await Promise.all([installation.startReplica('gateway-a'), installation.startReplica('gateway-b')]);
  client = await installation.addClient([installation.cluster]);
  certificate = await clientCertificate(installation.authority, client.clientId);
  await installation.startAgent({
    replicas: [a],
    apiPort: 1,
    allowTargets: ['127.0.0.1:1024-65535', '*.shop.svc:*'],
    resolve: (name) => {
      const found = NAMES[name];
      if (name === 'hangs.shop.svc') return new Promise(() => undefined);
      return found ? Promise.resolve(found) : Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
    },
  });
  for (const replica of [a, b]) {
    await eventually(async () => {
      const { head } = await through(replica);
      if (!head.includes(' 200 ')) throw new Error(head);
    });
  }
});

afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  await target?.[Symbol.asyncDispose]();
  crashes[Symbol.dispose]();
});

beforeEach(async () => {
  // A client that closes is, until something is sent to it, one that ended its direction: the target must end, too.
  for (const socket of target.sockets) socket.destroy();
  await eventually(() => {
    if (target.sockets.size > 0) throw new Error('connections to the target are left');
  });
  target.handle = (socket) => void socket.pipe(socket);
});

afterEach(() => {
  for (const { socket } of opened.splice(0)) socket.destroy();
});

async function through(replica: Replica, call: Partial<ConnectCall> = {}): Promise<ConnectAnswer> {
  const { authority } = installation;
  const answer = await connectThrough(replica, { authority, certificate, target: `127.0.0.1:${target.port}`, ...call });
  opened.push(answer);
  return answer;
}

const refusals = (replica: Replica): string[] =>
  replica.refusals.filter(({ door }) => door === 'connect').map(({ code }) => code);

describe.each([
  ['the replica that holds the link', () => a],
  ['the other replica', () => b],
])('through %s', (_, replica) => {
  it('bytes come back as they went', async () => {
    const { head, socket } = await through(replica());
    expect(head).toBe('HTTP/1.1 200 Connection Established');
    const answer = readAll(socket);
    const sent = randomBytes(300_000);
    socket.end(sent);
    expect(sha256(await answer)).toBe(sha256(sent));
  });

  it('a server that speaks first is heard after the 200, byte for byte', async () => {
    target.handle = (socket) => void socket.end('SSH-2.0-banner\r\n');
    for (let round = 0; round < 20; round += 1) {
      const { status, socket } = await through(replica());
      expect(status).toBe(200);
      expect(await text(socket)).toBe('SSH-2.0-banner\r\n');
      socket.end();
    }
  });

  it('what the client sends before the 200 arrives first and in order', async () => {
    const early = randomBytes(40_000);
    const { socket } = await through(replica(), { early });
    const answer = readAll(socket);
    socket.end('tail');
    expect(sha256(await answer)).toBe(sha256(Buffer.concat([early, Buffer.from('tail')])));
  });

  it.each([0, 5])('5 MB, written and closed by the target, arrive whole (reader pauses %i ms)', async (pauseMs) => {
    const sent = randomBytes(5 * 1024 * 1024);
    target.handle = (socket) => void socket.end(sent);
    const { socket } = await through(replica());
    expect(sha256(await readAll(socket, pauseMs))).toBe(sha256(sent));
    socket.end();
  });

  it.each([0, 5])('5 MB, written and closed by the client, arrive whole (target pauses %i ms)', async (pauseMs) => {
    const received = new Promise<Buffer>((resolve, reject) => {
      target.handle = (socket) => {
        readAll(socket, pauseMs).then(resolve, reject);
      };
    });
    const sent = randomBytes(5 * 1024 * 1024);
    const { socket } = await through(replica());
    socket.end(sent);
    expect(sha256(await received)).toBe(sha256(sent));
  });

  it('1 MB goes to the client after it ended its direction', async () => {
    const sent = randomBytes(1024 * 1024);
    target.handle = (socket) => {
      socket.resume().once('end', () => socket.end(sent));
    };
    const { socket } = await through(replica());
    socket.end('request');
    expect(sha256(await readAll(socket))).toBe(sha256(sent));
  });

  it('1 MB goes to the target after it ended its direction', async () => {
    const received = new Promise<Buffer>((resolve, reject) => {
      target.handle = (socket) => {
        socket.end('bye');
        readAll(socket).then(resolve, reject);
      };
    });
    const { socket } = await through(replica());
    expect(await text(socket)).toBe('bye');
    const sent = randomBytes(1024 * 1024);
    socket.end(sent);
    expect(sha256(await received)).toBe(sha256(sent));
  });

  it('a target that breaks off is an error for the client, not an end', async () => {
    target.handle = (socket) => {
      socket.write('partial', () => setTimeout(() => socket.resetAndDestroy(), 100));
    };
    const { socket } = await through(replica());
    await expect(readAll(socket)).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('a client that breaks off is an error for the target, and leaves nothing behind', async () => {
    let failed = false;
    target.handle = (socket) => void socket.resume().once('error', () => (failed = true));
    const { plain } = await through(replica());
    await eventually(() => expect(target.sockets.size).toBe(1));
    plain.resetAndDestroy();
    await eventually(() => expect([target.sockets.size, failed]).toEqual([0, true]));
  });

  it('what the policy does not allow is refused by its code', async () => {
    const before = target.made();
    for (const [host, status, code] of [
      ['10.0.0.1:80', 403, 'TARGET_REFUSED'],
      ['127.0.0.1:22', 403, 'TARGET_REFUSED'],
      ['[::1]:8080', 403, 'TARGET_REFUSED'],
      ['169.254.169.254:80', 403, 'TARGET_REFUSED'],
      ['[::ffff:169.254.169.254]:80', 403, 'TARGET_REFUSED'],
      ['localhost:22', 403, 'TARGET_REFUSED'],
      ['rebound.shop.svc:80', 403, 'TARGET_REFUSED'],
      ['nowhere.shop.svc:80', 502, 'TARGET_UNREACHABLE'],
      ['127.0.0.1:1024', 502, 'TARGET_UNREACHABLE'],
      ['unix:/run/docker.sock', 400, 'INVALID_ARGUMENT'],
      ['0177.0.0.1:8080', 400, 'INVALID_ARGUMENT'],
      ['2130706433:8080', 400, 'INVALID_ARGUMENT'],
      ['http://127.0.0.1:8080', 400, 'INVALID_ARGUMENT'],
      ['127.0.0.1', 400, 'INVALID_ARGUMENT'],
    ] as const) {
      const answer = await through(replica(), { target: host });
      expect([host, answer.status, answer.head]).toEqual([
        host,
        status,
        expect.stringContaining(`Fairlead-Reason: ${code}`),
      ]);
      expect(await text(answer.socket)).toMatch(new RegExp(`^${code}: .*\n$`));
    }
    expect(target.made()).toBe(before);
    expect(refusals(replica())).toContain('TARGET_REFUSED');
  });

  it('of what a name resolves to, only the allowed address is dialled', async () => {
    for (const name of ['echo.shop.svc', 'TWO.shop.SVC']) {
      const { status, socket } = await through(replica(), { target: `${name}:${target.port}` });
      expect(status).toBe(200);
      socket.end('hello');
      expect(await text(socket)).toBe('hello');
    }
  });

  it('a stalled reader slows nobody else', async () => {
    target.handle = (socket) => void socket.write(randomBytes(64 * 1024 * 1024));
    const stalled = await through(replica());
    stalled.socket.pause();
    target.handle = (socket) => void socket.pipe(socket);
    const { socket } = await through(replica());
    let answered = 0;
    for (let round = 0; round < 100; round += 1) {
      socket.write('ping');
      answered += String((await once(socket, 'data'))[0]) === 'ping' ? 1 : 0;
    }
    expect(answered).toBe(100);
  });
});

it('a target that is never reached is 504, without being tried anywhere else', async () => {
  const { status, head } = await through(b, { target: 'hangs.shop.svc:80' });
  expect([status, head]).toEqual([504, expect.stringContaining('Fairlead-Reason: DEADLINE_EXCEEDED')]);
  expect(head).not.toContain('Retry-After');
});

it('nothing of all that was left unhandled', () => expect(crashes.seen).toEqual([]));
