import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { readNoMore } from './read-no-more.js';

it.each([
  ['as much as by default', {}],
  ['more', { readableHighWaterMark: 1 << 20 }],
])('reads nothing more of a peer that sends byte by byte, where it reads ahead %s', async (_what, options) => {
  let reads = 0;
  const connection = new Duplex({
    ...options,
    read() {
      reads += 1;
      setImmediate(() => this.push(Buffer.from([0])));
    },
    write: (_chunk, _encoding, done) => done(),
  });
  const heard: Buffer[] = [];
  connection.on('data', (piece: Buffer) => heard.push(piece));
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  expect(reads).toBeGreaterThan(5);
  readNoMore(connection);
  const [before, heardBefore] = [reads, heard.length];
  connection.resume();
  for (let turn = 0; turn < 50; turn += 1) await nextTurn();
  // The one that had been asked for, and the one that resuming asks for.
  expect(reads - before).toBeLessThanOrEqual(2);
  expect([heard.length - heardBefore, connection.readableLength]).toEqual([0, 0]);
  connection.destroy();
});

it('leaves to the kernel what a peer still sends on a connection, and what is written is sent', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  try {
    const [served] = (await once(server, 'connection')) as [Socket];
    served.on('data', () => undefined);
    readNoMore(served);
    // Reading stops at what comes first.
    client.write('first');
    while (served.bytesRead === 0) await nextTurn();
    client.write('second');
    await delay(100);
    expect([served.bytesRead, served.readableLength]).toEqual([5, 0]);
    served.write('why');
    expect(String((await once(client, 'data'))[0])).toBe('why');
  } finally {
    client.destroy();
    server.close();
  }
});
