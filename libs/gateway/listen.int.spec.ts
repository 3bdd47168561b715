import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { stopListening } from './listen.js';

const CLIENTS = 200;
/** For the handshakes of TCP, which a busy machine's kernel does not do at once. */
const KERNEL_MS = 500;

describe('stopListening', () => {
  it('first accepts those that the kernel let in already', async () => {
    const server = createServer((socket) => void socket.end('served')).listen(0, '127.0.0.1', 2 * CLIENTS);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const clients = Array.from({ length: CLIENTS }, () => connect({ port, host: '127.0.0.1' }));
    const answers = clients.map(async (client) => (await client.setEncoding('utf8').toArray()).join(''));
    // Node dials at the end of this tick. Then the kernel has time to let each in, while this process cannot accept any.
    await new Promise<void>((resolve) => {
      process.nextTick(resolve);
    });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, KERNEL_MS);
    await stopListening(server);
    expect(server.listening).toBe(false);
    const outcomes = await Promise.all(answers.map((answer) => answer.catch((error: Error) => error.message)));
    expect(outcomes.filter((outcome) => outcome !== 'served')).toEqual([]);
  });

  it('does not wait for ever for a crowd that does not end', async () => {
    const server = createServer((socket) => void socket.destroy()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    let over = false;
    const dial = (): void => {
      if (over) return;
      const client = connect({ port, host: '127.0.0.1' });
      client.on('error', () => undefined);
      client.once('close', dial);
    };
    for (let index = 0; index < 8; index += 1) dial();
    await once(server, 'connection');
    const beganMs = performance.now();
    await stopListening(server);
    over = true;
    expect(performance.now() - beganMs).toBeLessThan(20_000);
  });
});
