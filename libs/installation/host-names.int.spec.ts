import { once } from 'node:events';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect, type TLSSocket } from 'node:tls';
import type { ClusterEntry } from '@fairlead/contracts';
import { startRecordingApiServer, type RecordingApiServer } from '@fairlead/tunnel/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { callDoor, untilAnswered, type DoorAnswer } from './kube-client.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

const DOMAIN = 'k.example';
const hostOf = (cluster: string): string => `${cluster}.${DOMAIN}`;

let installation: TestInstallation;
let apis: { readonly demo: RecordingApiServer; readonly other: RecordingApiServer };
let gateway: Replica;

beforeAll(async () => {
  installation = await startInstallation();
  const { authority } = installation;
  apis = { demo: await startRecordingApiServer(authority), other: await startRecordingApiServer(authority) };
  gateway = await installation.startReplica('gateway-a', { clusterDomain: DOMAIN });
  const other = await installation.addCluster('other');
  await joined(installation.cluster, apis.demo);
  await joined(other, apis.other);
});

afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  await apis?.demo[Symbol.asyncDispose]();
  await apis?.other[Symbol.asyncDispose]();
});

beforeEach(() => {
  for (const [name, api] of Object.entries(apis)) {
    api.requests.length = 0;
    api.handle = (_request, response) => response.end(name);
  }
});

async function joined(cluster: ClusterEntry, api: RecordingApiServer): Promise<void> {
  await installation.startAgent({ replicas: [gateway], cluster, apiPort: api.port });
  await untilAnswered(installation, gateway, { path: `/clusters/${cluster.name}/api` });
}

/** One request to a host, by default on a connection that was opened for it. */
const get = (host: string, path: string, serverName = host, headers: readonly string[] = []): Promise<DoorAnswer> =>
  callDoor(installation, gateway, { host: `${host}:7443`, serverName, path, headers });
const reached = (): string[][] => [apis.demo, apis.other].map(({ requests }) => requests.map(({ url }) => url ?? ''));

describe('a cluster’s own host name', () => {
  it('leads to it, and the path is its kube-apiserver’s from the first slash on', async () => {
    const answers = [
      await get(hostOf('demo'), '/api/v1/pods?limit=5'),
      await get(hostOf('other').toUpperCase(), '/', hostOf('other')),
    ];
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [200, 'demo'],
      [200, 'other'],
    ]);
    expect(reached()).toEqual([['/api/v1/pods?limit=5'], ['/']]);
  });

  it('takes /clusters/… for a path like any other: it leads nowhere else', async () => {
    expect((await get(hostOf('demo'), '/clusters/other/api')).body).toBe('demo');
    expect(reached()).toEqual([['/clusters/other/api'], []]);
  });

  it('stands beside the path, which goes on as before', async () => {
    expect((await get('localhost', '/clusters/other/api')).body).toBe('other');
    expect((await get('localhost', '/api')).status).toBe(404);
  });

  it.each(['nowhere', 'a.b', 'de_mo', '-demo'])('of no cluster is not found: %s', async (name) => {
    // Not a name that the certificate covers, some of them: a client that does not look is answered the same.
    const agent = { rejectUnauthorized: false };
    const socket = connect({
      ...agent,
      host: '127.0.0.1',
      port: gateway.gateway.door.port,
      servername: hostOf(name),
    });
    const answer = await raw(socket, [`GET /api HTTP/1.1`, `Host: ${hostOf(name)}`]);
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    expect(answer).toContain('list yours with: fairlead cluster list');
    expect(reached()).toEqual([[], []]);
  });

  it.each(['/../clusters/other', '/api/%2e%2e/x', '/a\\b', 'http://other.k.example/api'])(
    'refuses what could be read in two ways: %s',
    async (path) => {
      const answer = await get(hostOf('demo'), path);
      expect([answer.status, JSON.parse(answer.body)]).toMatchObject([400, { kind: 'Status', reason: 'BadRequest' }]);
      expect(reached()).toEqual([[], []]);
    },
  );

  it('keeps redirects at the host, and lets none lead away', async () => {
    apis.demo.handle = (request, response) => {
      response.writeHead(307, { location: request.url === '/far' ? 'https://other.k.example/api' : '/api/v1' }).end();
    };
    expect((await get(hostOf('demo'), '/near')).headers.location).toBe('/api/v1');
    expect((await get(hostOf('demo'), '/far')).status).toBe(502);
  });

  it('is no origin of the cluster’s: cookies and other state of an origin do not pass', async () => {
    apis.demo.handle = (request, response) => {
      response.writeHead(200, { 'set-cookie': 'a=b', 'strict-transport-security': 'max-age=1' });
      response.end(String(request.headers.cookie));
    };
    const { headers, body } = await get(hostOf('demo'), '/', hostOf('demo'), ['Cookie', 'c=d']);
    expect([headers['set-cookie'], headers['strict-transport-security'], body]).toEqual([
      undefined,
      undefined,
      'undefined',
    ]);
  });
});

describe('a request on a connection that was opened for another host', () => {
  it.each([
    ['another cluster’s', hostOf('demo'), hostOf('other')],
    ['the door’s own', hostOf('demo'), 'localhost'],
    ['a cluster’s, and asks for the door’s', 'localhost', hostOf('demo')],
  ])('is misdirected: %s', async (_, host, serverName) => {
    const answer = await get(host, '/clusters/demo/api', serverName);
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([421, { kind: 'Status', code: 421 }]);
    expect(answer.body).toContain('open a connection for each cluster');
    expect(reached()).toEqual([[], []]);
  });

  it('is misdirected with the session of another connection too: the name of the new one counts', async () => {
    const { door } = gateway.gateway;
    const to = { host: '127.0.0.1', port: door.port, ca: [...installation.authority.roots] };
    const first = connect({ ...to, servername: hostOf('demo') });
    const told = once(first, 'session') as Promise<[Buffer]>;
    expect(await raw(first, ['GET /api HTTP/1.1', `Host: ${hostOf('demo')}`])).toMatch(/^HTTP\/1\.1 200 /);
    const [session] = await told;
    const resumed = connect({ ...to, servername: hostOf('demo'), session });
    await once(resumed, 'secureConnect');
    expect(resumed.isSessionReused()).toBe(true);
    expect(await raw(resumed, ['GET /api HTTP/1.1', `Host: ${hostOf('demo')}`])).toMatch(/^HTTP\/1\.1 200 /);
    const other = connect({ ...to, servername: hostOf('other'), session });
    expect(await raw(other, ['GET /api HTTP/1.1', `Host: ${hostOf('demo')}`])).toMatch(/^HTTP\/1\.1 421 /);
  });

  it('is misdirected over HTTP/2, where its neighbours go on', async () => {
    const session = http2To(hostOf('demo'));
    const authorities = [hostOf('demo'), hostOf('other'), `${hostOf('demo')}:7443`];
    const answers = await Promise.all(authorities.map((authority) => ask(session, { ':authority': authority })));
    session.destroy();
    expect(answers).toEqual([200, 421, 200]);
    expect(reached()).toEqual([['/api', '/api'], []]);
  });

  it('is refused if it names two hosts', async () => {
    const session = http2To(hostOf('demo'));
    const answer = await ask(session, { ':authority': hostOf('demo'), host: hostOf('other') });
    session.destroy();
    const to = { host: '127.0.0.1', port: gateway.gateway.door.port, ca: [...installation.authority.roots] };
    const twice = ['GET /api HTTP/1.1', `Host: ${hostOf('demo')}`, `Host: ${hostOf('other')}`];
    const second = await raw(connect({ ...to, servername: hostOf('demo') }), twice);
    expect([answer, second.slice(0, 12)]).toEqual([400, 'HTTP/1.1 400']);
    expect(reached()).toEqual([[], []]);
  });
});

describe('an upgrade at a cluster’s own host name', () => {
  const exec = '/api/v1/namespaces/default/pods/web/exec?command=ls';
  const asked = (host: string): string[] => [
    `POST ${exec} HTTP/1.1`,
    `Host: ${host}`,
    'Connection: Upgrade',
    'Upgrade: SPDY/3.1',
    'X-Stream-Protocol-Version: v4.channel.k8s.io',
  ];
  const dial = (serverName: string): TLSSocket =>
    connect({
      host: '127.0.0.1',
      port: gateway.gateway.door.port,
      ca: [...installation.authority.roots],
      servername: serverName,
    });

  it('goes there, and is misdirected on another’s connection', async () => {
    const urls: (string | undefined)[] = [];
    apis.demo.handleUpgrade = ({ url }, connection) => {
      urls.push(url);
      const head = ['Connection: Upgrade', 'Upgrade: SPDY/3.1', 'X-Stream-Protocol-Version: v4.channel.k8s.io'];
      connection.end(['HTTP/1.1 101 Switching Protocols', ...head, '', 'switched'].join('\r\n'));
    };
    expect(await raw(dial(hostOf('demo')), asked(hostOf('demo')))).toMatch(/^HTTP\/1\.1 101 [^]*switched$/);
    expect(await raw(dial(hostOf('other')), asked(hostOf('demo')))).toMatch(/^HTTP\/1\.1 421 /);
    expect(urls).toEqual([exec]);
  });
});

function http2To(serverName: string): ClientHttp2Session {
  const session = connectHttp2(`https://127.0.0.1:${gateway.gateway.door.port}`, {
    ca: [...installation.authority.roots],
    servername: serverName,
  });
  return session.on('error', () => undefined);
}

async function ask(session: ClientHttp2Session, headers: Record<string, string>): Promise<unknown> {
  const stream = session.request({ ':path': '/api', authorization: `Bearer ${installation.token}`, ...headers });
  stream.resume();
  const [answered] = (await once(stream, 'response')) as [Record<string, unknown>];
  return answered[':status'];
}

/** Sends a head with the token, and resolves with all that is answered until the connection ends, or a whole answer came. */
async function raw(socket: TLSSocket, lines: readonly string[]): Promise<string> {
  let heard = '';
  socket.on('error', () => undefined);
  socket.on('data', (piece: Buffer) => (heard += piece.toString('latin1')));
  const close = lines.some((line) => line.startsWith('Connection:')) ? [] : ['Connection: close'];
  socket.write([...lines, `Authorization: Bearer ${installation.token}`, ...close, '', ''].join('\r\n'));
  await once(socket, 'close');
  return heard;
}
