import type { TLSSocket } from 'node:tls';

/**
 * Pieces that a head may come in, each a record of TLS that costs a look. In records as small as Go's first one, 1,186 bytes, the most that is let in
 * (96 KiB) comes in 83, and a stack may send each of its frames by itself.
 */
const MOST_PIECES = 128;

export interface FirstHeadLimits {
  readonly maxHeaderBytes: number;
  readonly headersTimeoutMs: number;
}

export interface HeadReading {
  readonly timeoutMs: number;
  /** What to do once nobody reads here any more, if the head is whole or cannot become one. */
  readonly onPiece: (piece: Buffer) => (() => void) | undefined;
  /** It came in too many pieces. */
  readonly onTooMany: () => void;
  /** It did not come in time. */
  readonly onLate: () => void;
}

/** Reads the beginning of a connection that nobody else has heard of yet. Ends with one of these, or when it closes. */
export function readHead(socket: TLSSocket, { timeoutMs, onPiece, onTooMany, onLate }: HeadReading): void {
  let pieces = 0;
  const stop = (): void => {
    clearTimeout(timer);
    socket.off('readable', onReadable).off('end', onEnd).off('close', stop).off('error', ignore);
  };
  const onEnd = (): void => void socket.destroy();
  const onReadable = (): void => {
    for (let piece = socket.read() as Buffer | null; piece; piece = socket.read() as Buffer | null) {
      pieces += 1;
      const finish = onPiece(piece) ?? (pieces < MOST_PIECES ? undefined : onTooMany);
      if (!finish) continue;
      stop();
      finish();
      return;
    }
  };
  const timer = setTimeout(() => {
    stop();
    onLate();
  }, timeoutMs).unref();
  socket.on('readable', onReadable).once('end', onEnd).once('close', stop).on('error', ignore);
}

function ignore(): void {
  // The connection closes, of which those hear who wait for it.
}
