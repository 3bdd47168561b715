import { once } from 'node:events';
import { connect, createServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startBalancer, type TcpForwarder } from '../testing/tcp-servers.js';
import { keepAlive } from './index.js';

const bounds = { intervalMs: 50, timeoutMs: 150 };
let server: ReturnType<typeof createServer>;
let route: TcpForwarder;
const accepted: ServerHttp2Session[] = [];

beforeEach(async () => {
  server = createServer((_request, response) => void response.write('x'));
  server.on('session', (session) => accepted.push(session));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  route = await startBalancer([(server.address() as AddressInfo).port]);
});

afterEach(async () => {
  for (const session of accepted.splice(0)) session.destroy();
  await route[Symbol.asyncDispose]();
  server.close();
});

function dial(): ReturnType<typeof connect> {
  const session = connect(`http://127.0.0.1:${route.port}`);
  session.on('error', () => undefined);
  keepAlive(session, session.socket, bounds);
  return session;
}

describe('a session that is watched', () => {
  it('stands while its peer answers', async () => {
    const session = dial();
    await delay(600);
    expect(session.destroyed).toBe(false);
    session.destroy();
  });

  it('ends when its peer falls silent, though TCP stands', async () => {
    const session = dial();
    const stream = session.request({ ':path': '/' });
    stream.on('error', () => undefined);
    await once(stream, 'response');
    route.blackhole();
    const beganMs = performance.now();
    await new Promise((resolve) => stream.once('close', resolve));
    expect(performance.now() - beganMs).toBeLessThan(1_500);
    expect(session.destroyed).toBe(true);
  });
});
