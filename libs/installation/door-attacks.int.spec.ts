import { once } from 'node:events';
import { connect, constants, type ClientHttp2Session } from 'node:http2';
import { connect as netConnect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent } from 'node:https';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { collectCrashes, type Crashes } from './crashes.js';
import { callDoor, openDoor } from './kube-client.js';
import { startLinkedCluster, type LinkedCluster } from './linked-cluster.js';
import { rawDoor, rawRequest } from './raw-client.js';

let bodies: string[];
let crashes: Crashes;
let linked: LinkedCluster;

beforeAll(async () => {
  crashes = collectCrashes();
  linked = await startLinkedCluster();
});

afterAll(async () => {
  await linked?.[Symbol.asyncDispose]();
  crashes[Symbol.dispose]();
});

beforeEach(() => {
  linked.api.requests.length = 0;
  bodies = [];
  linked.api.handle = (request, response) => {
    const answer = (body: string): void => {
      bodies.push(body);
      response.end('{}');
    };
    text(request).then(answer, () => response.destroy());
  };
});

const reached = (): string[] => linked.api.requests.map(({ method, url }) => `${method} ${url}`);
/** What an attacker hides in a body, hoping that somebody reads it as the next request. */
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: x\r\nImpersonate-User: root\r\n\r\n';

describe('a body whose end could be read in two ways', () => {
  it.each([
    ['both framings', [`Content-Length: ${SMUGGLED.length}`, 'Transfer-Encoding: chunked']],
    ['two lengths', ['Content-Length: 5', `Content-Length: ${SMUGGLED.length}`]],
    ['a coding besides chunked', ['Transfer-Encoding: gzip, chunked']],
    ['a coding that is not chunked', ['Transfer-Encoding: identity']],
    ['a signed length', [`Content-Length: +${SMUGGLED.length}`]],
    ['a blank before the colon', ['Transfer-Encoding : chunked']],
  ])('is refused, and nothing of it gets through: %s', async (_, framing) => {
    const body = `0\r\n\r\n${SMUGGLED}`;
    const answer = await rawRequest(
      linked.installation,
      linked.replica,
      ['POST /clusters/demo/api HTTP/1.1', ...framing],
      body,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(reached()).toEqual([]);
  });

  it.each(['DELETE', 'GET', 'POST'])('keeps its length whatever Connection names (%s)', async (method) => {
    const headers = ['Connection: content-length, keep-alive', `Content-Length: ${SMUGGLED.length}`];
    await rawRequest(
      linked.installation,
      linked.replica,
      [`${method} /clusters/demo/api HTTP/1.1`, ...headers],
      SMUGGLED,
    );
    await eventually(() => expect(bodies).toEqual([SMUGGLED]));
    expect(reached()).toEqual([`${method} /api`]);
  });

  it.each(['DELETE', 'POST'])('keeps its framing beyond the thousandth header (%s)', async (method) => {
    const chunked = `${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`;
    const many = Array.from({ length: 2_500 }, (_, index) => `a${index % 10}: b`);
    const lines = [`${method} /clusters/demo/api HTTP/1.1`, ...many, 'Transfer-Encoding: chunked'];
    await rawRequest(linked.installation, linked.replica, lines, chunked);
    await eventually(() => expect(bodies).toEqual([SMUGGLED]));
    expect(reached()).toEqual([`${method} /api`]);
  });
});

// Node's client writes it in capitals: another request would go on than was decided about.
it.each(['get', 'Delete', 'patch'])('the method %s is refused over HTTP/2, and nothing goes on', async (method) => {
  const authorization = `Bearer ${linked.installation.token}`;
  for (const path of ['/clusters/demo/api/v1/pods', '/clusters/demo/version']) {
    const session = connect(`https://127.0.0.1:${linked.replica.gateway.door.port}`, {
      ca: [...linked.installation.authority.roots],
    });
    const stream = session.request({ ':path': path, ':method': method, authorization });
    const [answer] = (await once(stream, 'response')) as [{ ':status': number }];
    expect(answer[':status']).toBe(400);
    expect(JSON.parse(await text(stream))).toMatchObject({ kind: 'Status', reason: 'BadRequest' });
    session.close();
  }
  expect(reached()).toEqual([]);
});

describe('a body on a method that seldom has one', () => {
  it.each(['DELETE', 'GET', 'OPTIONS'])('arrives whole, with a length or without (%s)', async (method) => {
    const body = '{"kind":"DeleteOptions"}';
    expect((await callDoor(linked.installation, linked.replica, { method, body })).status).toBe(200);
    const outgoing = openDoor(linked.installation, linked.replica, {
      method,
      headers: ['Transfer-Encoding', 'chunked'],
    });
    outgoing.write(body.slice(0, 5));
    outgoing.end(body.slice(5));
    const [answer] = (await once(outgoing, 'response')) as [NodeJS.ReadableStream];
    await text(answer);
    expect(bodies).toEqual([body, body]);
  });

  it('arrives whole over HTTP/2', async () => {
    const session = connect(`https://127.0.0.1:${linked.replica.gateway.door.port}`, {
      ca: [...linked.installation.authority.roots],
    });
    const authorization = `Bearer ${linked.installation.token}`;
    const stream = session.request(
      { ':path': '/clusters/demo/api', ':method': 'DELETE', authorization },
      { endStream: false },
    );
    stream.end('{"a":1}');
    await text(stream);
    session.close();
    expect(bodies).toEqual(['{"a":1}']);
  });
});

async function openSession(): Promise<ClientHttp2Session> {
  const ca = [...linked.installation.authority.roots];
  const session = connect(`https://127.0.0.1:${linked.replica.gateway.door.port}`, { ca });
  session.on('error', () => undefined);
  await once(session, 'connect');
  return session;
}

describe('odd requests', () => {
  it('with a target in absolute form, or none of ours, are 404', async () => {
    for (const target of ['http://door/clusters/demo/api', '*', '/clusters/de%6Do/x', '//clusters/demo/api']) {
      expect(await rawRequest(linked.installation, linked.replica, [`OPTIONS ${target} HTTP/1.1`])).toMatch(
        /^HTTP\/1\.1 404 /,
      );
    }
    expect(reached()).toEqual([]);
  });

  it('that expect 100-continue get it, and their body arrives', async () => {
    const lines = ['POST /clusters/demo/api HTTP/1.1', 'Expect: 100-continue', 'Content-Length: 2'];
    const answer = await rawRequest(linked.installation, linked.replica, lines, '{}');
    expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
    expect(linked.api.requests[0]?.rawHeaders.join(' ')).not.toContain('100-continue');
  });

  it('to upgrade, of clients that vanish meanwhile, harm nobody', async () => {
    const lines = ['POST /clusters/demo/api HTTP/1.1', 'Connection: Upgrade', 'Upgrade: SPDY/3.1'];
    for (let i = 0; i < 20; i += 1) {
      const plain = netConnect(linked.replica.gateway.door.port, '127.0.0.1');
      const socket = await rawDoor(linked.installation, linked.replica, plain);
      const authorization = i % 2 === 0 ? [`Authorization: Bearer ${linked.installation.token}`] : [];
      socket.write([...lines, ...authorization, 'Host: x', '', ''].join('\r\n'));
      setImmediate(() => plain.resetAndDestroy());
      await new Promise((resolve) => plain.once('close', resolve));
    }
    expect((await callDoor(linked.installation, linked.replica)).status).toBe(200);
  });

  it('in pipelines are answered in order, each as itself', async () => {
    linked.api.handle = (request, response) =>
      void setTimeout(() => response.end(request.url), request.url === '/1' ? 100 : 0);
    const socket = await rawDoor(linked.installation, linked.replica);
    let heard = '';
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')));
    const request = (index: number): string =>
      `GET /clusters/demo/${index} HTTP/1.1\r\nHost: d\r\nAuthorization: Bearer ${linked.installation.token}\r\n\r\n`;
    socket.write(request(1) + request(2));
    await eventually(() => expect(heard.match(/\r\n\/\d/g)).toEqual(['\r\n/1', '\r\n/2']));
    socket.end();
  });

  it('cancelled at any moment over HTTP/2 harm nobody', async () => {
    for (const token of [linked.installation.token, 'wrong']) {
      let session = await openSession();
      for (let i = 0; i < 200; i += 1) {
        // A refusal ends the session of an unauthenticated peer: what is asked on it from then on fails here, and reaches nobody.
        if (session.closed || session.destroyed) session = await openSession();
        const stream = session.request({ ':path': '/clusters/demo/api', authorization: `Bearer ${token}` });
        stream.on('error', () => undefined);
        if (i % 3 === 0) await delay(1);
        stream.close(constants.NGHTTP2_CANCEL);
      }
      if (token === 'wrong') session.destroy();
      else session.close();
    }
    await delay(200);
    expect((await callDoor(linked.installation, linked.replica)).status).toBe(200);
  });

  it.each([
    ['an ordinary one', ''],
    ['an upgrade', 'Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n'],
  ])('that never finish their head are cut off, and asked of nobody: %s', async (_, lines) => {
    linked.api.requests.length = 0;
    const quick = await linked.installation.startReplica('gateway-b', { kubeApiLimits: { headersTimeoutMs: 3_000 } });
    const socket = await rawDoor(linked.installation, quick);
    socket.write(
      `GET /clusters/demo/api HTTP/1.1\r\nHost: d\r\nAuthorization: Bearer ${linked.installation.token}\r\n${lines}`,
    );
    const drip = setInterval(() => socket.writable && socket.write('a: b\r\n'), 1_000);
    socket.resume();
    socket.on('error', () => undefined);
    await new Promise((resolve) => socket.once('close', resolve));
    clearInterval(drip);
    expect([socket.destroyed, linked.api.requests]).toEqual([true, []]);
  });
});

describe('an answer', () => {
  it('of a cluster sets nothing that would hold for the whole origin of the gateway', async () => {
    linked.api.handle = (_request, response) => {
      response.writeHead(200, ['Set-Cookie', 'session=evil; Path=/', 'Alt-Svc', 'h3=":1"', 'Warning', '299 - "x"']);
      response.end();
    };
    const { headers } = await callDoor(linked.installation, linked.replica);
    expect([headers['set-cookie'], headers['alt-svc'], headers['warning']]).toEqual([
      undefined,
      undefined,
      '299 - "x"',
    ]);
  });

  it('that leads to another cluster or host, where the client would take its token, is not passed on', async () => {
    for (const location of [
      'http://thief.example/steal',
      '//thief.example',
      '/../other/api/v1/namespaces/kube-system',
    ]) {
      linked.api.handle = (_request, response) => void response.writeHead(307, { location }).end();
      const { status, headers, body } = await callDoor(linked.installation, linked.replica, { method: 'DELETE' });
      expect([status, headers['location']]).toEqual([502, undefined]);
      expect(JSON.parse(body)).toMatchObject({
        kind: 'Status',
        message: expect.stringContaining('redirect') as string,
      });
    }
  });

  it('that leads elsewhere in its cluster leads there by way of the door', async () => {
    linked.api.handle = (_request, response) =>
      void response.writeHead(301, { location: '/api/v1/pods?limit=1' }).end();
    const { status, headers } = await callDoor(linked.installation, linked.replica);
    expect([status, headers['location']]).toEqual([301, '/clusters/demo/api/v1/pods?limit=1']);
    expect((await callDoor(linked.installation, linked.replica, { path: headers['location'] as string })).status).toBe(
      301,
    );
    expect(reached().at(-1)).toBe('GET /api/v1/pods?limit=1');
  });

  it('with large headers arrives', async () => {
    linked.api.handle = (_request, response) => void response.writeHead(200, { 'x-large': 'x'.repeat(40_000) }).end();
    const { status, headers } = await callDoor(linked.installation, linked.replica, { maxHeaderSize: 65_536 });
    expect([status, String(headers['x-large']).length]).toEqual([200, 40_000]);
  });

  it('that comes before the body was read leaves nothing behind for the next request', async () => {
    linked.api.handle = (_request, response) => void response.writeHead(413).end('too large');
    const outgoing = openDoor(linked.installation, linked.replica, {
      method: 'POST',
      headers: ['Transfer-Encoding', 'chunked'],
    });
    outgoing.on('error', () => undefined);
    outgoing.write(Buffer.alloc(300_000));
    const [answer] = (await once(outgoing, 'response')) as [NodeJS.ReadableStream & { statusCode: number }];
    expect(answer.statusCode).toBe(413);
    outgoing.destroy();
    linked.api.handle = (request, response) => void response.end(request.url);
    for (let i = 0; i < 5; i += 1) {
      expect((await callDoor(linked.installation, linked.replica, { path: `/clusters/demo/${i}` })).body).toBe(`/${i}`);
    }
  });

  it('that never came is 502 without Retry-After, and a write is sent once', async () => {
    const agent = new Agent({ keepAlive: true });
    expect((await callDoor(linked.installation, linked.replica, { agent })).status).toBe(200);
    linked.api.requests.length = 0;
    linked.api.handle = (request) => void request.socket.destroy();
    for (const method of ['POST', 'PATCH', 'DELETE', 'PUT']) {
      const answer = await callDoor(linked.installation, linked.replica, { method, body: '{}', agent });
      expect([answer.status, answer.headers['retry-after']]).toEqual([502, undefined]);
    }
    expect(reached()).toEqual(['POST /api', 'PATCH /api', 'DELETE /api', 'PUT /api']);
    agent.destroy();
  });

  it('is asked for once more on a new connection if a kept one had died, and nothing was sent in a body', async () => {
    expect((await callDoor(linked.installation, linked.replica)).status).toBe(200);
    let first = true;
    linked.api.handle = (request, response) => {
      if (!first) return void response.end('again');
      first = false;
      return void request.socket.destroy();
    };
    const answer = await callDoor(linked.installation, linked.replica);
    expect([answer.status, answer.body]).toEqual([200, 'again']);
  });
});

describe('after all of this', () => {
  it('nothing was thrown that would have ended the process', () => {
    expect(crashes.seen).toEqual([]);
  });
});
