import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to a server on loopback that can hold back what the server says. */
export interface HeldWire extends AsyncDisposable {
  readonly port: number;
  /** From now on no byte of the server arrives over the connections that there are, ever. New ones are not touched. */
  hold(): void;
}

export async function startHeldWire(serverPort: number): Promise<HeldWire> {
  const open = new Map<Socket, Socket>();
  const server = createServer((near) => {
    const far = connect(serverPort, '127.0.0.1');
    open.set(near, far);
    near.pipe(far);
    far.pipe(near);
    // Where one side ends in whatever way, the other one sees that, and nobody else needs to know.
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => other.destroy());
      one.once('close', () => other.destroy());
    }
    near.once('close', () => open.delete(near));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    hold: () => {
      for (const [near, far] of open) {
        far.unpipe(near);
        // Read and thrown away: a socket that nobody reads does not notice its end.
        far.resume();
      }
    },
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const near of open.keys()) near.destroy();
      await closed;
    },
  };
}
