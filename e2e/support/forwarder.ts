import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

/** Takes connections on loopback, of one family, and joins each to one that it dials. */
export interface Forwarder extends AsyncDisposable {
  /** `127.0.0.1:port`, or `[::1]:port`. */
  readonly host: string;
}

/** `dial` begins a connection, or gives none: then the client is turned away. */
export async function startForwarder(
  dial: () => Socket | undefined,
  { loopback = '127.0.0.1' }: { readonly loopback?: '127.0.0.1' | '::1' } = {},
): Promise<Forwarder> {
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const onward = dial();
    if (onward) join(client, onward, open);
    else client.destroy();
  });
  server.listen(0, loopback);
  await once(server, 'listening');
  return {
    host: `${loopback === '::1' ? '[::1]' : loopback}:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, 'close');
    },
  };
}

function join(client: Socket, onward: Socket, open: Set<Socket>): void {
  const end = (): void => {
    client.destroy();
    onward.destroy();
  };
  for (const socket of [client, onward]) {
    open.add(socket);
    socket.once('error', end).once('close', () => {
      open.delete(socket);
      end();
    });
  }
  client.pipe(onward).pipe(client);
}
