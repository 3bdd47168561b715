import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { collect, sessionPair, type SessionPair } from '../testing/tunnel-pair.js';
import { bridge, dialFor } from './index.js';

let pair: SessionPair;

beforeAll(async () => {
  pair = await sessionPair();
});

afterAll(() => pair[Symbol.asyncDispose]());

/** A TCP connection: the client's end, and the one that is to be bridged. */
async function tcpPair(): Promise<{ client: Socket; socket: Socket }> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
  const [socket] = (await accepted) as [Socket];
  server.close();
  return { client, socket };
}

it('a client that ended its direction before its target was there still has it ended, and gets its answer', async () => {
  const { client, socket } = await tcpPair();
  client.end();
  socket.resume();
  await once(socket, 'end');
  const { opener, acceptor } = await pair.opened();
  const over = bridge(socket, opener, () => void socket.resetAndDestroy());
  expect((await collect(acceptor)).length).toBe(0);
  acceptor.end('the answer');
  expect((await collect(client)).toString()).toBe('the answer');
  expect(await over).toEqual({ toTunnel: 0, fromTunnel: 10, cause: 'COMPLETE' });
});

it('a client that went away before its target was there breaks the tunnel off', async () => {
  const { client, socket } = await tcpPair();
  client.destroy();
  socket.on('error', () => undefined).destroy();
  await once(socket, 'close');
  const { opener, acceptor } = await pair.opened();
  const broken = once(acceptor, 'error');
  acceptor.resume();
  const { cause } = await bridge(socket, opener, () => undefined);
  expect(cause).toBe('TUNNEL_RESET');
  expect((await broken)[0]).toMatchObject({ code: 'TUNNEL_RESET' });
});

it('a target that answers in the moment in which its opener goes is let go, and that is told', async () => {
  const { socket } = await tcpPair();
  const { acceptor } = await pair.opened();
  acceptor.on('error', () => undefined);
  const dialled = dialFor(acceptor, async () => {
    acceptor.destroy();
    return socket;
  });
  await expect(dialled).rejects.toMatchObject({ code: 'TUNNEL_RESET' });
  expect(socket.destroyed).toBe(true);
});
