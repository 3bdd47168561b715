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
    if (session.destroyed || session.closed || deadline) return;
    deadline = setTimeout(
      () => session.destroy(new Error('the peer did not answer a ping in time')),
      options.timeoutMs,
    );
    session.ping(() => {
      clearTimeout(deadline);
      deadline = undefined;
    });
  };
  const interval = setInterval(ping, options.intervalMs);
  interval.unref();
  session.once('close', () => {
    clearInterval(interval);
    clearTimeout(deadline);
  });
}
