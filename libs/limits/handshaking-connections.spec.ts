import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { expect, it } from 'vitest';
import { HandshakingConnections } from './handshaking-connections.js';
import { UnauthenticatedFlood } from './unauthenticated-flood.js';

// First: what others have dialled ends later.
it('notes those that ended before they had proved anything, and those that found no slot, not others', async () => {
  const server = createServer();
  const connections = new HandshakingConnections(server, { total: 10, perNetwork: 5 });
  const endAll = async (accepted: readonly Socket[], said = 'GET /'): Promise<void> => {
    const closed = accepted.map((socket) => once(socket.resume(), 'close'));
    for (const client of clients.splice(0)) client.end(said);
    await Promise.all(closed);
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const clients: Socket[] = [];
  const dialMany = async (count: number): Promise<readonly Socket[]> => {
    const dialled: Socket[] = [];
    for (let at = 0; at < count; at += 1) dialled.push((await dial(server, clients, '127.0.0.1')).accepted);
    return dialled;
  };
  try {
    const [ofKnown, known] = [new UnauthenticatedFlood(() => 0), await dialMany(5)];
    for (const each of known) connections.admit(each);
    await endAll(known);
    expect(ofKnown.isOn()).toBe(false);
    const [ofUnauthenticated, unauthenticated] = [new UnauthenticatedFlood(() => 0), await dialMany(5)];
    await endAll(unauthenticated);
    expect(ofUnauthenticated.isOn()).toBe(true);
    const [ofSilent, silent] = [new UnauthenticatedFlood(() => 0), await dialMany(5)];
    await endAll(silent, '');
    expect(ofSilent.isOn()).toBe(false);
    const ofRefused = new UnauthenticatedFlood(() => 0);
    await dialMany(10);
    expect(ofRefused.isOn()).toBe(true);
  } finally {
    for (const client of clients) client.destroy();
    server.close();
  }
});

it('tells connections from one port of a client to two addresses of ours apart', async () => {
  const server = createServer();
  const connections = new HandshakingConnections(server, { total: 10, perNetwork: 2 });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  const clients: Socket[] = [];
  try {
    const first = await dial(server, clients, '127.0.0.1');
    const second = await dial(server, clients, '127.0.0.2', first.client.localPort);
    expect(first.client.localPort).toBe(second.client.localPort);
    for (const { accepted } of [first, second]) connections.admit(accepted);
    // Both count no more: there may be two again, and no third.
    for (const host of ['127.0.0.1', '127.0.0.2'])
      expect((await dial(server, clients, host)).accepted.destroyed).toBe(false);
    expect((await dial(server, clients, '127.0.0.1')).accepted.destroyed).toBe(true);
  } finally {
    for (const client of clients) client.destroy();
    server.close();
  }
});

it('ends the connections whose handshake takes too long, which Node would leave open, and counts them no more', async () => {
  const server = createTlsServer({ handshakeTimeout: 50 });
  const connections = new HandshakingConnections(server, { total: 10, perNetwork: 1 });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const clients: Socket[] = [];
  try {
    for (const silent of [1, 2, 3]) {
      const { client } = await dial(server, clients, '127.0.0.1');
      expect([silent, client.destroyed]).toEqual([silent, false]);
      client.resume();
      await once(client, 'close', { signal: AbortSignal.timeout(20_000) });
    }
    connections.admit({});
  } finally {
    for (const client of clients) client.destroy();
    server.close();
  }
});

async function dial(
  server: Server,
  clients: Socket[],
  host: string,
  localPort?: number,
): Promise<{ readonly client: Socket; readonly accepted: Socket }> {
  const { port } = server.address() as AddressInfo;
  const from = localPort === undefined ? {} : { localPort };
  // Listens after the one that is tested: what is too much is destroyed by then.
  const came = once(server, 'connection') as Promise<[Socket]>;
  const client = connect({ host, port, localAddress: '127.0.0.1', ...from }).on('error', () => undefined);
  clients.push(client);
  await once(client, 'connect');
  const [accepted] = await came;
  return { client, accepted: accepted.on('error', () => undefined) };
}
