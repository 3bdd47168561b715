import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { eventually } from '@fairlead/testing';
import { sha256 } from '@fairlead/tunnel/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { collectCrashes, type Crashes } from './crashes.js';
import { callDoor } from './kube-client.js';
import { rawDoor } from './raw-client.js';
import { startRelayedCluster, type RelayedCluster } from './relayed-cluster.js';
import type { Replica } from './replicas.js';

let cluster: RelayedCluster;
let crashes: Crashes;

beforeAll(async () => {
  crashes = collectCrashes();
  cluster = await startRelayedCluster({ allowTargets: ['127.0.0.1:*'] });
});
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  crashes[Symbol.dispose]();
});

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const acceptOf = (key: string): string =>
  createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
const EXEC = '/clusters/demo/api/v1/namespaces/default/pods/web/exec?command=ls&container=a';
const ASKED = {
  websocket: [
    `GET ${EXEC} HTTP/1.1`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${KEY}`,
    'Sec-WebSocket-Protocol: v5.channel.k8s.io, v4.channel.k8s.io',
  ],
  'SPDY/3.1': [
    `POST ${EXEC} HTTP/1.1`,
    'Connection: Upgrade',
    'Upgrade: SPDY/3.1',
    'Content-Length: 0',
    'X-Stream-Protocol-Version: v4.channel.k8s.io',
    'X-Stream-Protocol-Version: v3.channel.k8s.io',
  ],
};
const SWITCHED = {
  websocket: [
    'HTTP/1.1 101 Switching Protocols',
    'Connection: Upgrade',
    'Upgrade: websocket',
    `Sec-WebSocket-Accept: ${acceptOf(KEY)}`,
    'Sec-WebSocket-Protocol: v5.channel.k8s.io',
  ],
  'SPDY/3.1': [
    'HTTP/1.1 101 Switching Protocols',
    'Connection: Upgrade',
    'Upgrade: SPDY/3.1',
    'X-Stream-Protocol-Version: v4.channel.k8s.io',
  ],
};
type Protocol = keyof typeof ASKED;
const PROTOCOLS = Object.keys(ASKED) as Protocol[];
const headOf = (lines: readonly string[]): string => `${lines.join('\r\n')}\r\n\r\n`;

/** What the API server was asked, and on which connections. */
let upgrades: { readonly request: IncomingMessage; readonly connection: Duplex }[];

beforeEach(() => {
  cluster.api.requests.length = 0;
  upgrades = [];
  serve((connection) => void connection.pipe(connection), SWITCHED);
});

/** From now on the API server switches with this head, and goes on so. */
function serve(go: (connection: Duplex) => void, heads: Partial<typeof SWITCHED> = SWITCHED): void {
  cluster.api.handleUpgrade = (request, connection) => {
    upgrades.push({ request, connection });
    const protocol = PROTOCOLS.find((each) => each === request.headers.upgrade);
    connection.write(headOf(heads[protocol ?? 'websocket'] ?? []));
    go(connection);
  };
}

/** From now on it answers so, and no more. */
function answer(text: string): void {
  cluster.api.handleUpgrade = (request, connection) => {
    upgrades.push({ request, connection });
    connection.write(text);
  };
}

interface Asked {
  readonly socket: TLSSocket;
  /** All that came so far. */
  readonly heard: () => string;
  /** What came behind the head. */
  readonly body: () => Buffer;
  readonly ended: Promise<unknown>;
}

async function ask(
  replica: Replica,
  lines: readonly string[],
  behind = '',
  token = cluster.installation.token,
): Promise<Asked> {
  const socket = await rawDoor(cluster.installation, replica);
  socket.allowHalfOpen = true;
  socket.once('end', () => socket.end());
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  const all = (): Buffer => Buffer.concat(pieces);
  socket.write(headOf([...lines, 'Host: door', `Authorization: Bearer ${token}`]) + behind);
  return {
    socket,
    heard: () => all().toString('latin1'),
    body: () => all().subarray(all().indexOf('\r\n\r\n') + 4),
    ended: once(socket, 'close'),
  };
}

async function switched(replica: Replica, protocol: Protocol, behind = ''): Promise<Asked> {
  const asked = await ask(replica, ASKED[protocol], behind);
  await eventually(() => expect(asked.heard()).toMatch(/^HTTP\/1\.1 101 [^]*\r\n\r\n/));
  return asked;
}

const live = ({ gateway }: Replica): number =>
  (gateway.debugView() as { readonly totals: { readonly connections: number } }).totals.connections;
const valuesOf = (request: IncomingMessage | undefined, name: string): string[] =>
  (request?.rawHeaders ?? []).filter((_, i, raw) => i % 2 === 1 && raw[i - 1]?.toLowerCase() === name);

describe.each(['a', 'b'] as const)('at replica %s', (name) => {
  const replica = (): Replica => cluster[name];

  describe.each(PROTOCOLS)('%s', (protocol) => {
    it('goes through both ways, byte for byte, and each way ends by itself', async () => {
      const asked = await switched(replica(), protocol);
      const sent = randomBytes(3_000_000);
      asked.socket.end(sent);
      await eventually(() => expect(asked.body().length).toBe(sent.length));
      expect(sha256(asked.body())).toBe(sha256(sent));
      await asked.ended;
      await eventually(() => expect(live(replica())).toBe(0));
    });

    it('reaches the API server as who asked, with what it chooses from as it came', async () => {
      const asked = await switched(replica(), protocol);
      const [request] = upgrades.map((each) => each.request);
      expect(request?.url).toBe(EXEC.slice('/clusters/demo'.length));
      expect(request?.headers).toMatchObject({ upgrade: protocol, connection: 'Upgrade', 'impersonate-user': 'admin' });
      expect(asked.heard()).toContain(`\r\nAudit-Id: ${String(request?.headers['audit-id'])}\r\n`);
      expect(valuesOf(request, 'authorization')).toEqual([expect.not.stringContaining(cluster.installation.token)]);
      const offered = protocol === 'SPDY/3.1' ? ['v4.channel.k8s.io', 'v3.channel.k8s.io'] : [];
      expect(valuesOf(request, 'x-stream-protocol-version')).toEqual(offered);
      expect(asked.heard()).toContain(protocol === 'websocket' ? acceptOf(KEY) : 'X-Stream-Protocol-Version: v4');
      asked.socket.destroy();
    });

    it('takes what was sent behind the request only once both have switched', async () => {
      const held: Duplex[] = [];
      let heard = '';
      cluster.api.handleUpgrade = (_request, connection, early) => {
        heard += early.toString();
        connection.on('data', (piece: Buffer) => (heard += piece.toString()));
        held.push(connection);
      };
      const asked = await ask(replica(), ASKED[protocol], 'too early');
      await eventually(() => expect(held).toHaveLength(1));
      asked.socket.write(', and later');
      // A request that goes the whole way there and back, after all of it was sent: what was passed on would have come before it.
      expect((await callDoor(cluster.installation, replica())).status).toBe(200);
      expect(heard).toBe('');
      held[0]?.write(`${headOf(SWITCHED[protocol])}at once`);
      await eventually(() => expect([heard, asked.body().toString()]).toEqual(['too early, and later', 'at once']));
      asked.socket.destroy();
    });

    it('that is refused gets the answer, and nothing behind it is ever looked at', async () => {
      const body = 'x'.repeat(1_000_000);
      answer(`HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      const smuggled = 'GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\n\r\n';
      const asked = await ask(replica(), ASKED[protocol], smuggled);
      await asked.ended;
      expect(asked.heard()).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
      expect(asked.heard()).toMatch(/\r\nConnection: close\r\n/i);
      expect(asked.body().toString()).toBe(body);
      // After a refusal the agent asks what it may do itself.
      const others = cluster.api.requests.filter(({ url }) => !url.endsWith('/selfsubjectaccessreviews'));
      expect(others).toHaveLength(1);
      await eventually(() => expect([live(replica()), upgrades[0]?.connection.destroyed]).toEqual([0, true]));
    });

    it('breaks off at both ends when one of them does', async () => {
      const one = await switched(replica(), protocol);
      one.socket.destroy();
      await eventually(() => expect(upgrades[0]?.connection.destroyed).toBe(true));
      const two = await switched(replica(), protocol);
      upgrades[1]?.connection.destroy();
      await two.ended;
      const silent = await (answer(''), ask(replica(), ASKED[protocol]));
      await eventually(() => expect(upgrades).toHaveLength(3));
      silent.socket.destroy();
      await eventually(() => expect([upgrades[2]?.connection.destroyed, live(replica())]).toEqual([true, 0]));
    });
  });
});

describe('an API server that does not keep to the protocol', () => {
  const [ws, spdy] = [SWITCHED.websocket, SWITCHED['SPDY/3.1']];
  it.each<[string, Protocol, readonly string[]]>([
    ['switches to another protocol', 'websocket', ws.with(2, 'Upgrade: SPDY/3.1')],
    ['switches to two', 'websocket', ws.with(2, 'Upgrade: websocket, SPDY/3.1')],
    ['does not say to what', 'websocket', [ws[0] ?? '', 'Connection: close']],
    ['answers the key of somebody else', 'websocket', ws.with(3, `Sec-WebSocket-Accept: ${acceptOf('other')}`)],
    ['answers no key', 'websocket', ws.toSpliced(3, 1)],
    ['chooses what was not offered', 'websocket', ws.with(4, 'Sec-WebSocket-Protocol: v9.channel.k8s.io')],
    ['chooses what was not offered', 'SPDY/3.1', spdy.with(3, 'X-Stream-Protocol-Version: v9.channel.k8s.io')],
    ['chooses twice', 'SPDY/3.1', [...spdy, 'X-Stream-Protocol-Version: v3.channel.k8s.io']],
  ])('%s: is told to the client, and nothing that it says then (%s)', async (_, protocol, head) => {
    answer(`${headOf(head)}garbage`);
    const asked = await ask(cluster.b, ASKED[protocol]);
    await asked.ended;
    expect(asked.heard()).toMatch(/^HTTP\/1\.1 502 /);
    expect(asked.heard()).toContain('PROTOCOL_ERROR');
    expect(asked.heard()).not.toContain('garbage');
    await eventually(() => expect([live(cluster.b), upgrades[0]?.connection.destroyed]).toEqual([0, true]));
  });

  it.each([
    ['ends early', 'HTTP/1.1 101 Swit'],
    ['answers in no protocol', '\0\0\0\0\r\n\r\n'],
    ['answers a head without end', `HTTP/1.1 101 X\r\n${'a: b\r\n'.repeat(60_000)}`],
  ])('%s: is a 502', async (_, text) => {
    answer(text);
    const asked = await ask(cluster.b, ASKED.websocket);
    await eventually(() => expect(upgrades).toHaveLength(1));
    upgrades[0]?.connection.end();
    await asked.ended;
    expect(asked.heard()).toMatch(/^HTTP\/1\.1 502 /);
    await eventually(() => expect(live(cluster.b)).toBe(0));
  });

  it('switches, and sets nothing at the gateway’s own origin', async () => {
    const state = ['Set-Cookie: a=b', 'Strict-Transport-Security: max-age=1', 'NEL: {}', 'Content-Length: 5'];
    serve((connection) => void connection.write('whole'), { websocket: [...ws, ...state] });
    const asked = await switched(cluster.a, 'websocket');
    await eventually(() => expect(asked.body().toString()).toBe('whole'));
    expect(asked.heard()).not.toMatch(/set-cookie|strict-transport|nel:|content-length/i);
    asked.socket.destroy();
  });
});

describe('a request to upgrade that could be read in two ways', () => {
  const [ws, spdy] = [ASKED.websocket, ASKED['SPDY/3.1']];
  it.each<[string, readonly string[], string?]>([
    ['to two protocols', ws.with(2, 'Upgrade: websocket, SPDY/3.1')],
    ['twice', [...ws, 'Upgrade: websocket']],
    ['to h2c', [...ws.with(2, 'Upgrade: h2c'), 'HTTP2-Settings: AAMAAABkAAQAAP__']],
    ['with a body', [...ws, 'Content-Length: 4'], 'body'],
    ['with a chunked body', spdy.with(3, 'Transfer-Encoding: chunked'), '0\r\n\r\n'],
    ['without a key', ws.toSpliced(4, 1)],
    ['with two keys', [...ws, `Sec-WebSocket-Key: ${KEY}`]],
    ['of a WebSocket by POST', ws.with(0, ws[0]?.replace('GET', 'POST') ?? '')],
    ['over HTTP/1.0', ws.with(0, ws[0]?.replace('1.1', '1.0') ?? '')],
  ])('is refused: %s', async (_, lines, body = '') => {
    const asked = await ask(cluster.a, lines, body);
    await asked.ended;
    expect(asked.heard()).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(asked.body().toString())).toMatchObject({ kind: 'Status', code: 400 });
    expect(cluster.api.requests).toEqual([]);
    await eventually(() => expect(live(cluster.a)).toBe(0));
  });

  it('ends its connection when it comes before the request ahead of it was answered', async () => {
    let late: (() => void) | undefined;
    cluster.api.handle = (_request, response) => void (late = () => void response.end('late'));
    const asked = await ask(cluster.a, ['GET /clusters/demo/slow HTTP/1.1']);
    await eventually(() => expect(late).toBeDefined());
    const authorization = `Authorization: Bearer ${cluster.installation.token}`;
    asked.socket.write(headOf([...ASKED.websocket, 'Host: door', authorization]));
    await asked.ended;
    late?.();
    expect([asked.heard(), upgrades]).toEqual(['', []]);
    await eventually(() => expect(live(cluster.a)).toBe(0));
  });
});

describe('whose it is', () => {
  it('is the token’s: without one it is 401, at a foreign cluster 404, as somebody else 403', async () => {
    const foreign = ASKED.websocket.with(0, `GET ${EXEC.replace('demo', 'other')} HTTP/1.1`);
    const answers = [
      await ask(cluster.a, ASKED.websocket, '', 'x'),
      await ask(cluster.a, foreign),
      await ask(cluster.a, [...ASKED.websocket, 'Impersonate-User: root']),
    ];
    await Promise.all(answers.map(({ ended }) => ended));
    expect(answers.map(({ heard }) => heard().slice(9, 12))).toEqual(['401', '404', '403']);
    expect(cluster.api.requests).toEqual([]);
  });

  it('is never told in a subprotocol', async () => {
    const secret = 'base64url.bearer.authorization.k8s.io.c2VjcmV0';
    await ask(cluster.a, ASKED.websocket.with(5, `Sec-WebSocket-Protocol: v5.channel.k8s.io, ${secret}`));
    await eventually(() => expect(upgrades).toHaveLength(1));
    expect(upgrades[0]?.request.headers['sec-websocket-protocol']).toBe('v5.channel.k8s.io');
    upgrades[0]?.connection.destroy();
  });

  it('ends within two seconds of its access', async () => {
    const token = await cluster.installation.addToken({ user: 'alice', groups: [] }, new Date(Date.now() + 8_000));
    let asked: Asked | undefined;
    await eventually(async () => {
      asked = await ask(cluster.b, ASKED.websocket, '', token);
      await eventually(() => expect(asked?.heard()).toMatch(/^HTTP\/1\.1 /));
      expect(asked.heard()).toMatch(/^HTTP\/1\.1 101 /);
    });
    await asked?.ended;
    await eventually(() => expect([live(cluster.b), upgrades.at(-1)?.connection.destroyed]).toEqual([0, true]));
  });

  it('has a connection of its own to the API server, and leaves none for others', async () => {
    const sockets = new Set<unknown>();
    cluster.api.handle = (request, response) => {
      sockets.add(request.socket);
      response.end('{}');
    };
    for (let i = 0; i < 3; i += 1) {
      await callDoor(cluster.installation, cluster.a);
      const asked = await switched(cluster.a, 'websocket');
      expect(sockets.has(upgrades.at(-1)?.request.socket)).toBe(false);
      asked.socket.destroy();
      await callDoor(cluster.installation, cluster.a);
    }
    expect(upgrades.some(({ request }) => sockets.has(request.socket))).toBe(false);
  });
});

describe('an auditor is told', () => {
  const told = (replica: Replica, since: number): Record<string, unknown>[] =>
    replica.streams.slice(since).map(({ phase, user, reason, status, bytesUp, bytesDown, stream }) => ({
      phase,
      user,
      reason,
      status,
      bytesUp,
      bytesDown,
      object: `${stream.namespace}/${stream.object}`,
      what: stream.kind,
      protocol: stream.protocol,
      command: stream.command,
      container: stream.container,
    }));
  const asked = { user: 'admin', object: 'default/pods/web', what: 'exec', command: ['ls'], container: 'a' };

  it.each(PROTOCOLS)('when it is opened, and what it came to when it is over (%s)', async (protocol) => {
    const since = cluster.b.streams.length;
    const stream = await switched(cluster.b, protocol);
    const opened = { ...asked, protocol, phase: 'opened', reason: 'OK', status: 101, bytesUp: 0, bytesDown: 0 };
    expect(told(cluster.b, since)).toEqual([opened]);
    stream.socket.end('12345');
    await stream.ended;
    const ended = { ...opened, phase: 'ended', reason: 'COMPLETE', bytesUp: 5, bytesDown: 5 };
    await eventually(() => expect(told(cluster.b, since)).toEqual([opened, ended]));
    expect(new Set(cluster.b.streams.slice(since).map(({ streamId }) => streamId)).size).toBe(1);
  });

  it('that the cluster refused it, or that its agent did not take what the cluster answered', async () => {
    const since = cluster.a.streams.length;
    answer('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
    await (
      await ask(cluster.a, ASKED.websocket)
    ).ended;
    answer('HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    await (
      await ask(cluster.a, ASKED.websocket)
    ).ended;
    expect(told(cluster.a, since)).toEqual([
      { ...asked, protocol: 'websocket', phase: 'refused', reason: 'HTTP_403', status: 403, bytesUp: 0, bytesDown: 0 },
      expect.objectContaining({ phase: 'refused', reason: 'HTTP_502', status: 502 }),
    ]);
  });

  it('that its access ended under it, beside the refusal', async () => {
    const since = { streams: cluster.a.streams.length, refusals: cluster.a.refusals.length };
    const token = await cluster.installation.addToken({ user: 'carol', groups: [] }, new Date(Date.now() + 8_000));
    await eventually(async () => {
      const one = await ask(cluster.a, ASKED.websocket, '', token);
      await eventually(() => expect(one.heard()).toMatch(/^HTTP\/1\.1 /));
      expect(one.heard()).toMatch(/^HTTP\/1\.1 101 /);
      await one.ended;
    });
    const ended = expect.objectContaining({ phase: 'ended', user: 'carol', reason: 'UNAUTHENTICATED' }) as unknown;
    await eventually(() => expect(told(cluster.a, since.streams)).toContainEqual(ended));
    const refusal = expect.objectContaining({ user: 'carol', code: 'UNAUTHENTICATED' }) as unknown;
    expect(cluster.a.refusals.slice(since.refusals)).toContainEqual(refusal);
  });
});

it('of 300, ended by either side or refused, none leaves a session, a tunnel in use or a socket', async () => {
  const inUse = ({ gateway }: Replica): unknown =>
    (gateway.debugView() as { readonly totals: { readonly tunnelsInUse: number } }).totals.tunnelsInUse;
  await eventually(() => expect([inUse(cluster.a), inUse(cluster.b)]).toEqual([0, 0]), { timeoutMs: 60_000 });
  for (let round = 0; round < 10; round += 1) {
    serve((connection) => void (round % 2 === 0 ? connection.resume() : connection.destroy()));
    if (round % 3 === 0) answer('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
    const asked = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        ask(cluster[i % 2 === 0 ? 'a' : 'b'], ASKED[PROTOCOLS[i % 2] ?? 'websocket']),
      ),
    );
    await eventually(() =>
      expect(asked.filter(({ heard }) => /^HTTP\/1\.1 (101|403) /.test(heard()))).toHaveLength(30),
    );
    for (const { socket } of asked) socket.destroy();
  }
  expect(upgrades).toHaveLength(300);
  await eventually(() => {
    expect(upgrades.filter(({ connection }) => !connection.destroyed)).toEqual([]);
    expect([live(cluster.a), live(cluster.b), inUse(cluster.a), inUse(cluster.b)]).toEqual([0, 0, 0, 0]);
  });
});

it('none of this broke anything that nobody caught', () => {
  expect(crashes.seen).toEqual([]);
});
