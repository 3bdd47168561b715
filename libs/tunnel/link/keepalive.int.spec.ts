import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { eventually } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sessionPair, type SessionPair } from '../testing/tunnel-pair.js';
import { keepAlive, type Pinged } from './keepalive.js';

const bounds = { intervalMs: 50, timeoutMs: 150 };
let pair: SessionPair;

beforeEach(async () => {
  pair = await sessionPair();
});

afterEach(() => pair[Symbol.asyncDispose]());

async function joinedSockets(): Promise<{ near: Socket; far: Socket }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const near = connect((server.address() as AddressInfo).port, '127.0.0.1').resume();
  const [far] = (await accepted) as [Socket];
  server.close();
  return { near, far };
}

describe('a session that is watched', () => {
  it('stands while its peer answers', async () => {
    let answers = 0;
    keepAlive(pair.client, { intervalMs: 20, timeoutMs: 10_000 }, () => (answers += 1));
    await eventually(() => expect(answers).toBeGreaterThan(10));
    expect(pair.client.destroyed).toBe(false);
  });

  it('stands though we were not run for longer than its bounds: the answer waits in the socket', async () => {
    const { near, far } = await joinedSockets();
    let endedAfterBytes = -1;
    const watched: Pinged = {
      destroyed: false,
      get bytesRead() {
        return near.bytesRead;
      },
      ping: () => new Promise(() => undefined),
      destroy: () => void (endedAfterBytes = near.bytesRead),
      once: () => undefined,
    };
    keepAlive(watched, { intervalMs: 600_000, timeoutMs: 50 });
    far.write('answer');
    for (const untilMs = performance.now() + 200; performance.now() < untilMs;);
    // Without a word more it is silent: ended, but not before what was there was read.
    await eventually(() => expect(endedAfterBytes).toBe('answer'.length));
    near.destroy();
    far.destroy();
  });

  it('ends when its peer falls silent, though TCP stands', async () => {
    const { client: stream } = await pair.stream();
    keepAlive(pair.client, bounds);
    pair.blackhole();
    await new Promise<void>((resolve) => stream.onceClosed(resolve));
    expect(pair.client.destroyed).toBe(true);
  });
});
