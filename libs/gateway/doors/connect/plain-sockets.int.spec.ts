import { once } from 'node:events';
import { connect as netConnect, type AddressInfo, type Socket } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { testAuthority } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { rememberPlainSockets } from './plain-sockets.js';

it('tells connections from one port of a client to two addresses of ours apart', async () => {
  const authority = await testAuthority();
  const { privateKeyPem, chainPem } = await authority.serving(['127.0.0.1', '127.0.0.2']);
  const server = createServer({ key: privateKeyPem, cert: chainPem });
  const plainOf = rememberPlainSockets(server);
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const dial = async (host: string, localPort?: number): Promise<{ client: Socket; accepted: TLSSocket }> => {
    const from = localPort === undefined ? {} : { localPort };
    const client = netConnect({ host, port, localAddress: '127.0.0.1', ...from });
    await once(client, 'connect');
    const accepted = once(server, 'secureConnection') as Promise<[TLSSocket]>;
    const socket = connect({ socket: client, host, ca: [...authority.roots] });
    await once(socket, 'secureConnect');
    return { client, accepted: (await accepted)[0] };
  };

  const first = await dial('127.0.0.1');
  const second = await dial('127.0.0.2', first.client.localPort);

  expect(first.client.localPort).toBe(second.client.localPort);
  expect([first, second].map(({ accepted }) => plainOf(accepted)?.localAddress)).toEqual(['127.0.0.1', '127.0.0.2']);
  for (const { client } of [first, second]) client.destroy();
  server.close();
});
