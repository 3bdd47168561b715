import type { Http2Session } from 'node:http2';

/** The connection under a session: how much it has brought from the peer so far. */
export interface Heard {
  readonly bytesRead?: number;
}

export interface KeepaliveOptions {
  readonly intervalMs: number;
  /** A ping unanswered for this long ends the session. */
  readonly timeoutMs: number;
}

export const DEFAULT_KEEPALIVE: KeepaliveOptions = { intervalMs: 5_000, timeoutMs: 8_000 };

/**
 * Notices a peer that fell silent (stopped process, blackholed route) within interval + timeout, and ends the session
 * with an error; TCP alone would take minutes. Pings at once and then at each interval; tells what each one took.
 */
export function keepAlive(
  session: Http2Session,
  connection: Heard,
  options: KeepaliveOptions = DEFAULT_KEEPALIVE,
  onRoundTrip: (ms: number) => void = () => undefined,
): void {
  const bytesRead = (): number => (session.destroyed ? 0 : (connection.bytesRead ?? 0));
  let deadline: NodeJS.Timeout | undefined;
  let leastMs = Number.POSITIVE_INFINITY;
  const ping = (): void => {
    if (session.destroyed) clearInterval(interval);
    // A session that closes gently cannot ping any more.
    if (session.destroyed || session.closed || deadline) return;
    waitForAnswer();
    session.ping((error, durationMs) => {
      clearTimeout(deadline);
      deadline = undefined;
      if (error) return;
      onRoundTrip(durationMs);
      // The first ones measure a process that is busy beginning: go on until they grow no shorter.
      const isMuchShorter = durationMs < leastMs * 0.75;
      leastMs = Math.min(leastMs, durationMs);
      if (isMuchShorter) ping();
    });
  };
  // An answer may wait behind megabytes on a slow line: whoever is being heard is not silent.
  const waitForAnswer = (): void => {
    const heardBytes = bytesRead();
    deadline = setTimeout(() => {
      if (bytesRead() > heardBytes) waitForAnswer();
      else session.destroy(new Error('the peer did not answer a ping in time'));
    }, options.timeoutMs);
  };
  const interval = setInterval(ping, options.intervalMs);
  interval.unref();
  ping();
  session.once('close', () => {
    clearInterval(interval);
    clearTimeout(deadline);
  });
}
