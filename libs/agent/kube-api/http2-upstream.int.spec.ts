import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { silentLogger } from '@fairlead/observability';
import { eventually, testAuthority } from '@fairlead/testing';
import { collect, sessionPair, startRecordingApiServer, type SessionPair } from '@fairlead/tunnel/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { KubeApiProxy } from '../kube-api-proxy.js';

type Authority = Awaited<ReturnType<typeof testAuthority>>;

let authority: Authority;
let pair: SessionPair;
let server: Http2SecureServer;
let sessions: ServerHttp2Session[];
let asked: IncomingHttpHeaders[];
let answer: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;
let proxy: KubeApiProxy;

beforeAll(async () => {
  [authority, pair] = await Promise.all([testAuthority(), sessionPair()]);
});
afterAll(() => pair?.[Symbol.asyncDispose]());

beforeEach(async () => {
  [sessions, asked] = [[], []];
  answer = (stream) => {
    stream.respond({ ':status': 200 });
    stream.end('ok');
  };
  const { privateKeyPem: key, chainPem: cert } = await authority.serving(['127.0.0.1']);
  server = createSecureServer({ key, cert });
  server.on('session', (session) => sessions.push(session.on('error', () => undefined)));
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    asked.push(headers);
    answer(stream, headers);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = proxyTo((server.address() as AddressInfo).port);
});
afterEach(async () => {
  proxy.close();
  for (const session of sessions) session.destroy();
  server.close();
  await once(server, 'close');
});

function proxyTo(port: number): KubeApiProxy {
  const target = { host: '127.0.0.1', port, caPem: authority.roots.join('\n') };
  return new KubeApiProxy({ ...target, token: () => Promise.resolve('service-account') }, silentLogger);
}

/** A tunnel of a user. */
async function tunnelOf(user: string, by = proxy): Promise<Awaited<ReturnType<SessionPair['opened']>>['opener']> {
  const { opener, acceptor } = await pair.opened();
  by.serve(acceptor, { user, groups: [], extra: [] });
  return opener.on('error', () => undefined);
}

/** What came back until the tunnel was over, however it ended. */
async function heardOf(opener: Duplex): Promise<string> {
  let heard = '';
  opener.on('data', (piece: Buffer) => (heard += piece.toString()));
  await new Promise((resolve) => opener.once('close', resolve));
  return heard;
}

/** All that comes back for these requests, on one tunnel that ends in order. */
async function answerTo(
  requests: string,
  { user = 'alice', by = proxy, body = Buffer.alloc(0) } = {},
): Promise<string> {
  const opener = await tunnelOf(user, by);
  const answers = collect(opener);
  opener.write(requests, 'latin1');
  opener.end(body);
  return (await answers).toString('latin1');
}
const head = (line: string, ...headers: string[]): string =>
  [`${line} HTTP/1.1`, 'Host: cluster', ...headers, '', ''].join('\r\n');
const bodyOf = (text: string): string => text.slice(text.indexOf('\r\n\r\n') + 4);

describe('a kube-apiserver that speaks HTTP/2', () => {
  it('is asked on one connection, each request in the name of its user', async () => {
    await answerTo(head('GET /api?limit=1', 'X-Test: é', 'Connection: keep-alive'));
    await answerTo(head('GET /apis'), { user: 'bob' });
    expect(sessions).toHaveLength(1);
    expect(asked).toMatchObject([
      {
        ':method': 'GET',
        ':path': '/api?limit=1',
        'impersonate-user': 'alice',
        authorization: 'Bearer service-account',
        'x-test': 'é',
      },
      { ':path': '/apis', 'impersonate-user': 'bob' },
    ]);
    expect(asked[0]?.[':authority']).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(Object.keys(asked[0] ?? {})).not.toContain('connection');
  });

  it('takes a body as it comes, and gives one back, 3 MB each', async () => {
    const digests: string[] = [];
    answer = (stream) => {
      const hash = createHash('sha256');
      stream.on('data', (piece: Buffer) => hash.update(piece));
      stream.respond({ ':status': 201 });
      stream.pipe(stream);
      stream.once('end', () => digests.push(hash.digest('hex')));
    };
    const body = randomBytes(3_000_000);
    const said = await answerTo(head('POST /api', `Content-Length: ${body.length}`), { body });
    expect(said).toMatch(/^HTTP\/1\.1 201 /);
    expect(digests).toEqual([createHash('sha256').update(body).digest('hex')]);
    expect(said.length).toBeGreaterThan(body.length);
  });

  it('is told that a request has no body', async () => {
    const ended: boolean[] = [];
    answer = (stream) => {
      ended.push(stream.endAfterHeaders);
      stream.respond({ ':status': 200 }, { endStream: true });
    };
    await answerTo(head('GET /api'));
    await answerTo(head('DELETE /api'));
    expect(ended).toEqual([true, true]);
  });

  it('answers without a body, whatever its length says', async () => {
    answer = (stream, headers) => {
      const status = headers[':method'] === 'HEAD' ? 200 : 304;
      stream.respond({ ':status': status, 'content-length': '500' }, { endStream: true });
    };
    expect(await answerTo(head('HEAD /api'))).toMatch(/^HTTP\/1\.1 200 [^]*content-length: 500\r\n[^]*\r\n\r\n$/i);
    expect(await answerTo(head('GET /api'))).toMatch(/^HTTP\/1\.1 304 /);
  });

  it.each([
    ['more', 3],
    ['less', 500],
  ])('that gives %s than it said has its answer broken off', async (_, length) => {
    answer = (stream) => {
      stream.respond({ ':status': 200, 'content-length': String(length) });
      stream.end('another answer, maybe');
    };
    const opener = await tunnelOf('alice');
    opener.write(head('GET /api'));
    const heard = await heardOf(opener);
    expect(bodyOf(heard).length).toBeLessThan(length);
  });

  it('that breaks an answer off has it broken off, never ended', async () => {
    let breakOff = (): void => undefined;
    answer = (stream) => {
      stream.respond({ ':status': 200 });
      stream.write('the first half');
      breakOff = () => void stream.destroy(new Error('broken'));
    };
    const opener = await tunnelOf('alice');
    opener.write(head('GET /api'));
    opener.on('data', (piece: Buffer) => {
      if (piece.includes('the first half')) breakOff();
    });
    const heard = await heardOf(opener);
    expect(heard).toContain('the first half');
    // A chunked body that is whole ends with this.
    expect(heard).not.toContain('\r\n0\r\n\r\n');
  });

  it('hears of it when nobody waits any more', async () => {
    let code: number | undefined;
    answer = (stream) => {
      stream.respond({ ':status': 200 });
      stream.write('an event');
      stream.once('close', () => (code = stream.rstCode));
    };
    const opener = await tunnelOf('alice');
    opener.write(head('GET /api?watch=1'));
    await once(opener, 'data');
    opener.destroy();
    await eventually(() => expect(code).toBe(constants.NGHTTP2_CANCEL));
  });

  it('waits for a reader that takes nothing, and others do not wait for that one', async () => {
    let sent = 0;
    answer = (stream, headers) => {
      stream.respond({ ':status': 200 });
      const more = (): void => {
        sent += 65_536;
        stream.write(Buffer.alloc(65_536), (error) => (error ? undefined : more()));
      };
      if (headers[':path'] === '/flood') more();
      else stream.end('quick');
    };
    const stalled: Duplex[] = [];
    for (let i = 0; i < 5; i += 1) {
      const opener = await tunnelOf('alice');
      opener.write(head('GET /flood'));
      stalled.push(opener);
    }
    await eventually(() => expect(asked).toHaveLength(5));
    // Until all windows and buffers are full, in looks between which this process may stand still.
    for (let still = 0, seen = -1; still < 5; seen = sent) {
      await delay(40);
      still = seen === sent ? still + 1 : 0;
    }
    const before = sent;
    expect(bodyOf(await answerTo(head('GET /api')))).toContain('quick');
    await delay(200);
    expect(sent - before).toBeLessThan(1_000_000);
    for (const opener of stalled) opener.destroy();
  });
});

describe('a connection that ends', () => {
  it('costs nothing that can be repeated: a GET, and what was refused before anything was done', async () => {
    await answerTo(head('GET /first'));
    const again: string[] = [];
    answer = (stream, headers) => {
      again.push(String(headers[':path']));
      // With the connection, as a balancer that drops it.
      if (again.length === 1) sessions[0]?.socket.destroy();
      else if (headers[':path'] === '/refused' && again.length === 3) stream.close(constants.NGHTTP2_REFUSED_STREAM);
      else stream.respond({ ':status': 200 }, { endStream: true });
    };
    expect(await answerTo(head('GET /second'))).toMatch(/^HTTP\/1\.1 200 /);
    expect(await answerTo(head('POST /refused'))).toMatch(/^HTTP\/1\.1 200 /);
    expect(again).toEqual(['/second', '/second', '/refused', '/refused']);
  });

  it('is told where it is not known what was done', async () => {
    answer = (stream) => stream.session?.destroy();
    const said = await answerTo(head('POST /api'));
    expect(said).toMatch(/^HTTP\/1\.1 502 /);
    expect(asked).toHaveLength(1);
  });

  it('in order (GOAWAY) is not asked again, and what runs on it goes on', async () => {
    let finish: (() => void) | undefined;
    answer = (stream, headers) => {
      stream.respond({ ':status': 200 });
      if (headers[':path'] === '/slow') finish = () => stream.end('slow');
      else stream.end('quick');
    };
    const slow = answerTo(head('GET /slow'));
    await eventually(() => expect(finish).toBeDefined());
    sessions[0]?.goaway();
    await delay(100);
    expect(bodyOf(await answerTo(head('GET /quick')))).toContain('quick');
    expect(sessions).toHaveLength(2);
    finish?.();
    expect(bodyOf(await slow)).toContain('slow');
  });
});

describe('a kube-apiserver that speaks HTTP/1.1 only', () => {
  it('is asked on connections of which each belongs to one tunnel, and so to one user', async () => {
    await using api = await startRecordingApiServer(authority);
    const users = new Map<unknown, Set<unknown>>();
    api.handle = (request, response) => {
      const seen = users.get(request.socket) ?? new Set();
      users.set(request.socket, seen.add(request.headers['impersonate-user']));
      response.end('ok');
    };
    const by = proxyTo(api.port);
    const [one, other] = [await tunnelOf('alice', by), await tunnelOf('bob', by)];
    // By turns, so that what one left could be taken by the other.
    for (const opener of [one, other, one, other]) {
      opener.write(head('GET /api'));
      await once(opener, 'data');
      await delay(50);
    }
    expect([...users.values()].map((each) => [...each])).toEqual([['alice'], ['bob']]);
    for (const opener of [one, other]) opener.destroy();
    by.close();
  });
});

it('a kube-apiserver that is not there is told so', async () => {
  const by = proxyTo(1);
  expect(await answerTo(head('GET /api'), { by })).toMatch(/^HTTP\/1\.1 502 [^]*TARGET_UNREACHABLE/);
  by.close();
});
