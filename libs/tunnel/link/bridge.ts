import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import type { TunnelConnection } from './tunnel-connection.js';

/** Payload that went each way. */
export interface BridgedBytes {
  toTunnel: number;
  fromTunnel: number;
}

/** How a bridged connection went. */
export interface Bridged extends Readonly<BridgedBytes> {
  /** COMPLETE when both directions ended in order, else the code of what broke it. */
  readonly cause: string;
}

/** A socket whose peer had ended its direction and is gone: how long its last bytes may take to be delivered. */
const LINGER_MS = 5_000;

/**
 * Joins a socket and an opened tunnel: bytes, half-closes and stops in both directions, with the buffers of the two as
 * the only ones. What breaks on one side is a break on the other, never a clean end. Resolves when both are gone; never
 * rejects. `reset` breaks the socket off so that its peer notices. `bytes` is counted up while it runs.
 */
export async function bridge(
  socket: Duplex,
  tunnel: Duplex,
  reset: () => void,
  bytes: BridgedBytes = { toTunnel: 0, fromTunnel: 0 },
): Promise<Bridged> {
  const ends: FairleadError[] = [];
  const onSocketGone = (): void => {
    if (endedInOrder(socket)) return;
    const end = new FairleadError('TUNNEL_RESET', 'the connection at the other end broke off');
    ends.push(end);
    if (socket.readableEnded) deliverRest(tunnel, end);
    else tunnel.destroy(end);
  };
  const onTunnelGone = (): void => {
    if (endedInOrder(tunnel)) return;
    const broken = new FairleadError('TUNNEL_RESET', 'the tunnel broke off');
    ends.push(toFairleadError(tunnel.errored ?? broken));
    reset();
  };
  const over = Promise.all([gone(socket, onSocketGone), gone(tunnel, onTunnelGone)]);
  carry(socket, tunnel, (length) => (bytes.toTunnel += length));
  carry(tunnel, socket, (length) => (bytes.fromTunnel += length));
  await over;
  return { ...bytes, cause: ends[0]?.code ?? 'COMPLETE' };
}

/** Works for whoever is at the other end of this stream. Once that has gone, `work` is told by its signal: TUNNEL_RESET, with `why`. */
export async function whileOpen<T>(stream: Duplex, why: string, work: (gone: AbortSignal) => Promise<T>): Promise<T> {
  const gone = new AbortController();
  // Each of them closes once.
  const onClose = (): void => gone.abort(FairleadError.withoutStack('TUNNEL_RESET', why));
  stream.once('close', onClose);
  try {
    return await work(gone.signal);
  } finally {
    stream.off('close', onClose);
  }
}

/** The target of a tunnel, as `dial` connects to it. An opener that goes away meanwhile ends the dialling. */
export function dialFor(tunnel: TunnelConnection, dial: (gone: AbortSignal) => Promise<Socket>): Promise<Socket> {
  const why = 'who asked for the target has gone';
  return whileOpen(tunnel, why, async (gone) => {
    const socket = await dial(gone);
    if (!tunnel.destroyed) return socket;
    socket.destroy();
    // Its close, which the signal tells of, may come a moment after its end.
    throw new FairleadError('TUNNEL_RESET', why);
  });
}

/** One direction. As `pipe`, which costs three times as many listeners for each of a door's connections. */
function carry(from: Duplex, to: Duplex, count: (bytes: number) => void): void {
  const write = inBursts(to);
  from.on('data', (chunk: Buffer) => {
    count(chunk.length);
    if (!write(chunk)) from.pause();
  });
  to.on('drain', () => from.resume());
  // A client may have ended its direction while its target was being dialled.
  if (from.readableEnded) to.end();
  else from.on('end', () => to.end());
}

/**
 * Writes so that what comes in one turn of the event loop after the first piece leaves in one write: TLS hands over what
 * it read in pieces of 16 KB, and each would be a system call. The first piece goes at once, as there may be no second.
 */
function inBursts(to: Duplex): (chunk: Buffer) => boolean {
  let pieces = 0;
  const endBurst = (): void => {
    if (pieces > 1) to.uncork();
    pieces = 0;
  };
  return (chunk) => {
    pieces += 1;
    if (pieces === 1) setImmediate(endBurst);
    if (pieces === 2) to.cork();
    return to.write(chunk);
  };
}

/** Calls `then` when a stream is gone, and resolves after it. */
function gone(stream: Duplex, then: () => void): Promise<void> {
  // What broke it shows when it is gone; unheard, it would end the process.
  stream.on('error', () => undefined);
  return new Promise((resolve) => {
    const onClose = (): void => {
      then();
      resolve();
    };
    if (stream.closed) onClose();
    else stream.once('close', onClose);
  });
}

function endedInOrder(stream: Duplex): boolean {
  return stream.readableEnded && stream.writableFinished && !stream.errored;
}

/** All that came from the socket is on its way, and must not be lost because its peer takes nothing any more. */
function deliverRest(tunnel: Duplex, end: FairleadError): void {
  tunnel.pause();
  const timer = setTimeout(() => tunnel.destroy(end), LINGER_MS);
  tunnel.once('close', () => clearTimeout(timer));
  if (tunnel.closed) clearTimeout(timer);
}
