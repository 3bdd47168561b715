import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { stopListening } from './listen.js';

const CLIENTS = 200;
/** Beyond it the machine is broken, not busy. */
const MAX_MS = 30_000;

/** Dials in a thread of its own, counts who the kernel let in, and tells what each was sent. */
const DIALLING = `
  const { connect } = require('node:net');
  const { parentPort, workerData: { port, clients, connected } } = require('node:worker_threads');
  const answers = Array.from({ length: clients }, async () => {
    const client = connect({ port, host: '127.0.0.1' }).setEncoding('utf8');
    client.once('connect', () => {
      Atomics.add(connected, 0, 1);
      Atomics.notify(connected, 0);
    });
    return (await client.toArray()).join('');
  });
  Promise.all(answers.map((answer) => answer.catch((error) => error.message))).then((told) => parentPort.postMessage(told));
`;

/** Blocks this process, which cannot accept anybody meanwhile. */
function waitForAll(connected: Int32Array): void {
  for (let count = 0; count < CLIENTS; count = Atomics.load(connected, 0)) {
    if (Atomics.wait(connected, 0, count, MAX_MS) === 'timed-out') throw new Error(`${count} of ${CLIENTS} connected`);
  }
}

describe('stopListening', () => {
  it('first accepts those that the kernel let in already', async () => {
    const server = createServer((socket) => void socket.end('served')).listen(0, '127.0.0.1', 2 * CLIENTS);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const connected = new Int32Array(new SharedArrayBuffer(4));
    const dialling = new Worker(DIALLING, { eval: true, workerData: { port, clients: CLIENTS, connected } });
    const told = once(dialling, 'message', { signal: AbortSignal.timeout(MAX_MS) });
    waitForAll(connected);
    await stopListening(server);
    expect(server.listening).toBe(false);
    const [outcomes] = (await told) as [string[]];
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
