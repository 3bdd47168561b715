import { finished, type Duplex } from 'node:stream';
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
  tunnel: TunnelConnection,
  reset: () => void,
  bytes: BridgedBytes = { toTunnel: 0, fromTunnel: 0 },
): Promise<Bridged> {
  const ends: FairleadError[] = [];
  socket.on('data', (chunk: Buffer) => void (bytes.toTunnel += chunk.length));
  tunnel.on('data', (chunk: Buffer) => void (bytes.fromTunnel += chunk.length));
  socket.pipe(tunnel);
  tunnel.pipe(socket);
  const watchSocket = async (): Promise<void> => {
    if (!(await broke(socket))) return;
    const end = new FairleadError('TUNNEL_RESET', 'the connection at the other end broke off');
    ends.push(end);
    if (socket.readableEnded) deliverRest(tunnel, end);
    else tunnel.destroy(end);
  };
  const watchTunnel = async (): Promise<void> => {
    const error = await broke(tunnel);
    if (!error) return;
    ends.push(toFairleadError(error));
    reset();
  };
  await Promise.all([watchSocket(), watchTunnel()]);
  return { ...bytes, cause: ends[0]?.code ?? 'COMPLETE' };
}

/** All that came from the socket is on its way, and must not be lost because its peer takes nothing any more. */
function deliverRest(tunnel: TunnelConnection, end: FairleadError): void {
  tunnel.pause();
  const timer = setTimeout(() => tunnel.destroy(end), LINGER_MS);
  tunnel.once('close', () => clearTimeout(timer));
  if (tunnel.closed) clearTimeout(timer);
}

/** Resolves when a stream is gone: with null if both its directions ended in order. */
function broke(stream: Duplex): Promise<Error | null> {
  return new Promise((resolve) => finished(stream, (error) => resolve(error ?? null)));
}
