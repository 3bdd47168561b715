import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { withoutRoot } from '@fairlead/pki';

/** What a TLS client that trusts only these roots thinks of a server with this chain. */
export async function handshake(
  server: { key: string; chain: readonly string[] },
  ca: string,
): Promise<boolean | string> {
  const listener = createServer({ key: server.key, cert: withoutRoot(server.chain).join('') });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const socket: TLSSocket = connect({ port, host: '127.0.0.1', ca, checkServerIdentity: () => undefined });
  try {
    await once(socket, 'secureConnect');
    return socket.authorized;
  } catch (error) {
    return (error as { code: string }).code;
  } finally {
    socket.destroy();
    listener.close();
  }
}
