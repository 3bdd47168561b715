import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { payload } from './payload.js';

/** Until it is opened, paced transfers trickle; they end only after it is. */
export interface Gate {
  readonly opened: Promise<void>;
  readonly isOpen: boolean;
  open(): void;
}

export function gate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isOpen = false;
  const open = (): void => {
    isOpen = true;
    resolve();
  };
  return {
    opened: promise,
    open,
    get isOpen() {
      return isOpen;
    },
  };
}

/** What a connection asks for in its first line: `<verb> <name> <bytes>\n`. */
export type Verb =
  /** All that comes goes back. */
  | 'echo'
  /** The payload, and then at once the end: whoever loses tails loses this one. */
  | 'send'
  /** The payload slowly, its last quarter after the gate of that name was opened. */
  | 'send-paced'
  /** Takes everything to its end, then answers `<sha256> <bytes>\n`. */
  | 'receive'
  /** The same, with pauses between reads. */
  | 'receive-slowly'
  /** Waits for the end of what comes, then sends the payload. */
  | 'answer'
  /** Sends the payload and takes as much at the same time, then `<sha256> <bytes>\n` of what it took. */
  | 'both'
  /** Reads nothing and says nothing. */
  | 'hold';

export interface TcpTarget extends AsyncDisposable {
  /** `host:port`. */
  readonly address: string;
  readonly openConnections: number;
  /** Breaks every connection off. */
  drop(): void;
  /** Payload bytes that came in so far, by name. */
  readonly received: ReadonlyMap<string, number>;
  /** Gates of paced transfers, by the part of their name before the first slash. */
  readonly gates: Map<string, Gate>;
}

const PACE = { bytes: 8 * 1024, pauseMs: 100 };
const SLOW_READ_MS = 2;
const MAX_LINE_BYTES = 256;

/** A TCP server in a cluster that does what each connection asks of it. */
export async function startTcpTarget(): Promise<TcpTarget> {
  const sockets = new Set<Socket>();
  const received = new Map<string, number>();
  const gates = new Map<string, Gate>();
  const server = createServer({ allowHalfOpen: true, noDelay: true });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    // Connections are broken off on purpose here; who cares looks at what arrived.
    socket.on('error', () => undefined);
    serve(socket, { received, gates }).catch(() => breakOff(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    gates,
    drop: () => {
      for (const socket of sockets) breakOff(socket);
    },
    get openConnections() {
      return sockets.size;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Node (24.21) leaves a socket open that is to be reset while its end is on its way. */
function breakOff(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

interface Shared {
  readonly received: Map<string, number>;
  readonly gates: ReadonlyMap<string, Gate>;
}

async function serve(socket: Socket, shared: Shared): Promise<void> {
  const line = await readLine(socket);
  if (line === null) return;
  const [verb, name = '', size = '0'] = line.split(' ');
  const bytes = Number(size);
  const count = (arrived: number): void => void shared.received.set(name, (shared.received.get(name) ?? 0) + arrived);
  switch (verb as Verb) {
    case 'echo':
      socket.pipe(socket);
      return;
    case 'send':
      socket.resume();
      await sendAll(socket, payload(name, bytes));
      break;
    case 'send-paced':
      socket.resume();
      await sendAll(socket, paced(name, bytes, shared.gates.get(groupOf(name))));
      break;
    case 'receive':
      await sendAll(socket, [await takeAll(socket, count, 0)]);
      break;
    case 'receive-slowly':
      await sendAll(socket, [await takeAll(socket, count, SLOW_READ_MS)]);
      break;
    case 'answer':
      await takeAll(socket, count, 0);
      await sendAll(socket, payload(name, bytes));
      break;
    case 'both':
      await sendAll(socket, [
        (await Promise.all([takeAll(socket, count, 0), sendAll(socket, payload(name, bytes))]))[0],
      ]);
      break;
    case 'hold':
      return;
    default:
      throw new Error(`a connection asked for ${verb}`);
  }
  socket.end();
}

/** `a/b` belongs to the gate `a`. */
export function groupOf(name: string): string {
  return name.split('/', 1)[0] ?? '';
}

/** The payload in small pieces with pauses; quickly once the gate is open, and its last quarter only then. */
export async function* paced(name: string, bytes: number, held: Gate = gate()): AsyncGenerator<Buffer> {
  let sent = 0;
  for (const chunk of payload(name, bytes, PACE.bytes)) {
    if (sent >= bytes * 0.75) await held.opened;
    else if (!held.isOpen) await sleep(PACE.pauseMs);
    yield chunk;
    sent += chunk.length;
  }
}

/** Writes with the flow control of the stream; rejects when it breaks off. Does not end it. */
export async function sendAll(
  socket: NodeJS.WritableStream & { readonly destroyed?: boolean },
  chunks: Iterable<Buffer> | AsyncIterable<Buffer>,
): Promise<void> {
  const gone = new AbortController();
  const onClose = (): void => gone.abort(new Error('the connection broke off'));
  socket.once('close', onClose);
  try {
    for await (const chunk of chunks) {
      if (socket.destroyed) onClose();
      gone.signal.throwIfAborted();
      if (!socket.write(chunk)) await once(socket, 'drain', { signal: gone.signal });
    }
  } finally {
    socket.off('close', onClose);
  }
}

/** Reads to the end; resolves with the line that says what it was. Rejects when it breaks off. */
async function takeAll(socket: Socket, count: (bytes: number) => void, pauseMs: number): Promise<Buffer> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
    count(chunk.length);
    if (pauseMs > 0) await sleep(pauseMs);
  }
  return Buffer.from(`${hash.digest('hex')} ${bytes}\n`);
}

/** The first line; what came after it stays in the socket. Null if the connection ended before. */
function readLine(socket: Socket): Promise<string | null> {
  return new Promise((resolve) => {
    let read = Buffer.alloc(0);
    const settle = (line: string | null, rest = Buffer.alloc(0)): void => {
      socket.off('readable', onReadable).off('close', onEnd).off('end', onEnd);
      if (rest.length > 0) socket.unshift(rest);
      resolve(line);
    };
    const onEnd = (): void => {
      socket.destroy();
      settle(null);
    };
    const onReadable = (): void => {
      for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
        read = Buffer.concat([read, chunk]);
        const end = read.indexOf('\n');
        if (end !== -1) return settle(read.subarray(0, end).toString('latin1'), read.subarray(end + 1));
        if (read.length > MAX_LINE_BYTES) return onEnd();
      }
    };
    socket.on('readable', onReadable).once('close', onEnd).once('end', onEnd);
  });
}
