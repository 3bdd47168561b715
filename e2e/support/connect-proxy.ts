import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';

/** A forward proxy that leads wherever it is asked for to the same port of this machine, as DNS would for those names. */
export interface ConnectProxy extends AsyncDisposable {
  readonly url: string;
  /** `host:port`, in the order they were asked for. */
  readonly asked: readonly string[];
}

export async function startConnectProxy(): Promise<ConnectProxy> {
  const asked: string[] = [];
  const server = createServer();
  server.on('connect', (request, socket, head) => {
    asked.push(request.url ?? '');
    const onward = connect(Number(request.url?.split(':').at(-1)), '127.0.0.1');
    const end = (): void => {
      socket.destroy();
      onward.destroy();
    };
    for (const each of [socket, onward]) each.on('error', end).on('close', end);
    onward.once('connect', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      onward.write(head);
      socket.pipe(onward).pipe(socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
