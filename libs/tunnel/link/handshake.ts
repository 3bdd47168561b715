import { once } from 'node:events';
import type { TLSSocket } from 'node:tls';

/**
 * Resolves when the handshake of a connection that we dial is over. Rejects with what broke it, with the signal's reason, or with `why` if the
 * peer closed it; the connection is ended then.
 */
export async function handshake(socket: TLSSocket, signal: AbortSignal, why = new Error('closed')): Promise<void> {
  const closed = new AbortController();
  const onClose = (): void => closed.abort(why);
  socket.once('close', onClose);
  const over = AbortSignal.any([signal, closed.signal]);
  try {
    await once(socket, 'secureConnect', { signal: over });
  } catch (error) {
    socket.on('error', () => undefined).destroy();
    throw over.aborted ? over.reason : error;
  } finally {
    socket.off('close', onClose);
  }
}
