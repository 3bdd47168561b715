import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to a server on which one seems to come from another address of this machine. */
export interface SecondPlace extends AsyncDisposable {
  /** `host:port` to dial instead. */
  readonly address: string;
}

/** Passes bytes to `target`, a `host:port`, from `localAddress`, which is to be one of 127.0.0.0/8. */
export async function startSecondPlace(target: string, localAddress: string): Promise<SecondPlace> {
  const [host = '', port = ''] = target.split(':');
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect({ host, port: Number(port), localAddress });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy()).once('close', () => void (sockets.delete(one) && other.destroy()));
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}
