import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { testAuthority } from '@fairlead/testing';

/** The two ends of one TLS connection over loopback, on which nothing was said yet. */
export interface TlsPair extends AsyncDisposable {
  readonly client: TLSSocket;
  readonly server: TLSSocket;
}

/** A certificate for 127.0.0.1, and who signed it; the same for all tests of a file. */
export const loopbackIdentity = (() => {
  let made: Promise<{ key: string; cert: string; ca: string[] }> | undefined;
  return () => (made ??= makeIdentity());
})();

export async function tlsPair(): Promise<TlsPair> {
  const { key, cert, ca } = await loopbackIdentity();
  const listener = createServer({ key, cert, ALPNProtocols: ['h2'] });
  const accepted = once(listener, 'secureConnection') as Promise<[TLSSocket]>;
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const client = await dialTls((listener.address() as AddressInfo).port, ca);
  const [server] = await accepted;
  for (const socket of [client, server]) socket.on('error', () => undefined);
  return {
    client,
    server,
    [Symbol.asyncDispose]: async () => {
      client.destroy();
      server.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

/** A connection whose handshake is over. */
export async function dialTls(port: number, ca: string[]): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, ca, ALPNProtocols: ['h2'] });
  await once(socket, 'secureConnect');
  return socket;
}

async function makeIdentity(): Promise<{ key: string; cert: string; ca: string[] }> {
  const authority = await testAuthority();
  const { privateKeyPem, chainPem } = await authority.serving(['127.0.0.1']);
  return { key: privateKeyPem, cert: chainPem, ca: [...authority.roots] };
}
