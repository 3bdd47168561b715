import { once } from 'node:events';
import { connect } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { collectCrashes, type Crashes } from './crashes.js';
import { callDoor } from './kube-client.js';
import { startLinkedCluster, type LinkedCluster } from './linked-cluster.js';
import { rawDoor } from './raw-client.js';

let crashes: Crashes;
let linked: LinkedCluster;

interface Totals {
  readonly connections: number;
  readonly tunnelsInUse: number;
}

/** What goes through the replica now, as it tells people. Idle tunnels are in use for half a minute. */
const totals = (): Totals => (linked.replica.gateway.debugView() as { readonly totals: Totals }).totals;

beforeAll(async () => {
  crashes = collectCrashes();
  linked = await startLinkedCluster();
});

afterAll(async () => {
  await linked?.[Symbol.asyncDispose]();
  crashes[Symbol.dispose]();
});

beforeEach(() => {
  linked.api.handle = (request, response) => void response.end(request.url);
});

describe('an API server that switches protocols though it was not asked to', () => {
  it.each(['GET', 'POST'])('is a 502, and nothing of the request is left (%s)', async (method) => {
    linked.api.handle = ({ socket }) =>
      void socket.write('HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n');
    const call = method === 'GET' ? { method } : { method, body: '{}' };
    const { status, body } = await callDoor(linked.installation, linked.replica, call);
    expect([status, body]).toEqual([502, expect.stringContaining('switched protocols')]);
    await eventually(() => expect(totals().connections).toBe(0));
  });
});

/** A request that says more than it sends, up to its answer. */
async function askUnfinished(token = linked.installation.token): Promise<{ heard: () => string; socket: TLSSocket }> {
  const socket = await rawDoor(linked.installation, linked.replica);
  let heard = '';
  socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')));
  const authorization = `Authorization: Bearer ${token}`;
  socket.write(`POST /clusters/demo/early HTTP/1.1\r\nHost: d\r\n${authorization}\r\nContent-Length: 200\r\n\r\n`);
  socket.write('A'.repeat(10));
  await eventually(() => expect(heard).toMatch(/^HTTP\/1\.1 404 [^]*early$/));
  return { heard: () => heard, socket };
}

describe('an answer that comes before its request is over', () => {
  beforeEach(() => {
    linked.api.handle = (request, response) =>
      void response.writeHead(request.method === 'POST' ? 404 : 200, { 'content-length': 6 }).end(request.url);
  });

  it('counts until the request is over too, and its connection goes on with the next one', async () => {
    const { heard, socket } = await askUnfinished();
    expect(totals().connections).toBe(1);
    socket.write('B'.repeat(190));
    await eventually(() => expect(totals().connections).toBe(0));
    socket.write(
      `GET /clusters/demo/after HTTP/1.1\r\nHost: d\r\nAuthorization: Bearer ${linked.installation.token}\r\n\r\n`,
    );
    await eventually(() => expect(heard()).toMatch(/HTTP\/1\.1 200 [^]*\/after$/));
    socket.destroy();
  });

  it('leaves neither a place nor a tunnel behind when the client goes away (HTTP/1.1)', async () => {
    for (let i = 0; i < 5; i += 1) {
      const { socket } = await askUnfinished();
      socket.destroy();
    }
    await eventually(() => expect(totals()).toMatchObject({ connections: 0 }));
    await eventually(() => expect(totals().tunnelsInUse).toBeLessThan(5));
  });

  it('leaves neither a place nor a tunnel behind when the client goes away (HTTP/2)', async () => {
    const ca = [...linked.installation.authority.roots];
    const session = connect(`https://127.0.0.1:${linked.replica.gateway.door.port}`, { ca });
    const authorization = `Bearer ${linked.installation.token}`;
    for (let i = 0; i < 5; i += 1) {
      const stream = session.request({ ':path': '/clusters/demo/early', ':method': 'POST', authorization });
      stream.on('error', () => undefined);
      stream.write('x');
      await once(stream, 'response');
      stream.resume();
      await once(stream, 'end');
      stream.close(8);
    }
    session.close();
    await eventually(() => expect(totals()).toMatchObject({ connections: 0 }));
    await eventually(() => expect(totals().tunnelsInUse).toBeLessThan(5));
  });

  it('is broken off with its connection when its user is shut out', async () => {
    const token = await linked.installation.addToken({ user: 'leaver', groups: [] });
    await eventually(async () => {
      expect(
        (await callDoor(linked.installation, linked.replica, { token, path: '/clusters/demo/after' })).status,
      ).toBe(200);
    });
    const { socket } = await askUnfinished(token);
    await linked.installation.removeToken(token);
    await once(socket, 'close');
    await eventually(() => expect(totals().connections).toBe(0));
  });
});

describe('after all of this', () => {
  it('nothing was thrown that would have ended the process', () => {
    expect(crashes.seen).toEqual([]);
  });
});
