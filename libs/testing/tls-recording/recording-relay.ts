import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { RecordedConnection } from './decrypt-connection.js';

/** A way to a TCP server on which everything that passes is kept. */
export interface RecordingRelay extends AsyncDisposable {
  /** `host:port` to dial instead of the server. */
  readonly address: string;
  /** Where new connections go, a `host:port`. Before that they are ended at once. */
  leadTo(address: string): void;
  /** What passed so far, by connection, oldest first. Throws once that was more than may be kept. */
  recorded(): readonly RecordedConnection[];
}

export interface RecordingRelayOptions {
  /** Of all connections together. Default 64 MiB. */
  readonly maxBytes?: number;
  /** Where it seems to dial from, one of 127.0.0.0/8. Default 127.0.0.1. */
  readonly localAddress?: string;
}

interface Recording {
  readonly up: Buffer[];
  readonly down: Buffer[];
}

/** Listens at a free port of 127.0.0.1, and passes bytes on unread, half-closed connections included. */
export async function startRecordingRelay({
  maxBytes = 64 * 2 ** 20,
  localAddress = '127.0.0.1',
}: RecordingRelayOptions = {}): Promise<RecordingRelay> {
  const sockets = new Set<Socket>();
  const recordings: Recording[] = [];
  let target: { readonly host: string; readonly port: number } | undefined;
  let bytes = 0;
  const keep = (pieces: Buffer[], piece: Buffer): void => {
    bytes += piece.length;
    if (bytes <= maxBytes) pieces.push(piece);
  };
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    if (!target) {
      near.destroy();
      return;
    }
    const recording: Recording = { up: [], down: [] };
    recordings.push(recording);
    const far = connect({ ...target, localAddress, allowHalfOpen: true, noDelay: true });
    near.on('data', (piece: Buffer) => keep(recording.up, piece));
    far.on('data', (piece: Buffer) => keep(recording.down, piece));
    join(near, far, sockets);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    leadTo(address) {
      const [host = '', port = ''] = address.split(':');
      target = { host, port: Number(port) };
    },
    recorded() {
      if (bytes > maxBytes) throw new Error(`more than ${maxBytes} bytes passed: not all of them were kept`);
      return recordings.map(({ up, down }) => ({ up: Buffer.concat(up), down: Buffer.concat(down) }));
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}

/** What one gets the other gets; one that breaks takes the other along. */
function join(near: Socket, far: Socket, sockets: Set<Socket>): void {
  const pair = [
    [near, far],
    [far, near],
  ] as const;
  for (const [one, other] of pair) {
    sockets.add(one);
    one
      .on('error', () => other.destroy())
      .once('close', (broken: boolean) => {
        sockets.delete(one);
        if (broken) other.destroy();
      });
    one.pipe(other);
  }
}
