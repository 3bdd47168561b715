import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

export interface TcpTarget extends AsyncDisposable {
  readonly port: number;
  /** Connections that are open. */
  readonly sockets: ReadonlySet<Socket>;
  /** Made, all told. */
  readonly made: () => number;
  /** What to do with each connection that follows. */
  handle: (socket: Socket) => void;
}

/** A TCP server in a cluster; it echoes until it is told otherwise. */
export async function startTcpTarget(): Promise<TcpTarget> {
  const sockets = new Set<Socket>();
  let made = 0;
  const server = createServer({ allowHalfOpen: true });
  const target: TcpTarget = {
    port: 0,
    sockets,
    made: () => made,
    handle: (socket) => void socket.pipe(socket),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  server.on('connection', (socket) => {
    made += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
    target.handle(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(target, { port: (server.address() as AddressInfo).port });
}

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Everything until the end, with pauses if the reader is to be slow. */
export async function readAll(stream: NodeJS.ReadableStream, pauseMs = 0): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) {
    chunks.push(chunk as Buffer);
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return Buffer.concat(chunks);
}
