import type { Http2Session } from 'node:http2';

export interface KeepaliveOptions {
  readonly intervalMs: number;
  /** A ping unanswered for this long ends the session. */
  readonly timeoutMs: number;
}

export const DEFAULT_KEEPALIVE: KeepaliveOptions = { intervalMs: 5_000, timeoutMs: 8_000 };

/**
 * Notices a peer that fell silent (stopped process, blackholed route) within interval + timeout, and ends the session
 * with an error; TCP alone would take minutes.
 */
export function keepAlive(session: Http2Session, options: KeepaliveOptions = DEFAULT_KEEPALIVE): void {
  let deadline: NodeJS.Timeout | undefined;
  const ping = (): void => {
    if (session.destroyed) clearInterval(interval);
    // A session that closes gently cannot ping any more.
    if (session.destroyed || session.closed || deadline) return;
    waitForAnswer();
    session.ping(() => {
      clearTimeout(deadline);
      deadline = undefined;
    });
  };
  // An answer may wait behind megabytes on a slow line: whoever is being heard is not silent.
  const waitForAnswer = (): void => {
    const heardBytes = bytesRead(session);
    deadline = setTimeout(() => {
      if (bytesRead(session) > heardBytes) waitForAnswer();
      else session.destroy(new Error('the peer did not answer a ping in time'));
    }, options.timeoutMs);
  };
  const interval = setInterval(ping, options.intervalMs);
  interval.unref();
  session.once('close', () => {
    clearInterval(interval);
    clearTimeout(deadline);
  });
}

function bytesRead(session: Http2Session): number {
  return session.destroyed ? 0 : (session.socket.bytesRead ?? 0);
}
