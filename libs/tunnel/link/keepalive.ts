/** A session of any HTTP/2 implementation, as far as it matters whether its peer is still there. */
export interface Pinged {
  /** Gone, or about to go: not to be pinged any more. */
  readonly destroyed: boolean;
  /** What its connection brought so far. */
  readonly bytesRead: number;
  /** Resolves with the round trip in milliseconds, or null if the session ended before. */
  ping(): Promise<number | null>;
  destroy(cause: Error): void;
  once(event: 'close', listener: () => void): unknown;
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
 * A process that was itself stopped for that long first reads what came meanwhile.
 */
export function keepAlive(
  session: Pinged,
  options: KeepaliveOptions = DEFAULT_KEEPALIVE,
  onRoundTrip: (ms: number) => void = () => undefined,
): void {
  let deadline: NodeJS.Timeout | undefined;
  let leastMs = Number.POSITIVE_INFINITY;
  const ping = async (): Promise<void> => {
    if (session.destroyed || deadline) return;
    waitForAnswer();
    const durationMs = await session.ping();
    clearTimeout(deadline);
    deadline = undefined;
    if (durationMs === null) return;
    onRoundTrip(durationMs);
    // The first ones measure a process that is busy beginning: go on until they grow no shorter.
    const isMuchShorter = durationMs < leastMs * 0.75;
    leastMs = Math.min(leastMs, durationMs);
    if (isMuchShorter) void ping();
  };
  // An answer may wait behind megabytes on a slow line: whoever is being heard is not silent.
  const waitForAnswer = (): void => {
    const heardBytes = session.bytesRead;
    const judge = (): void => {
      if (deadline !== timer || session.destroyed) return;
      if (session.bytesRead > heardBytes) waitForAnswer();
      else session.destroy(new Error('the peer did not answer a ping in time'));
    };
    // Node runs timers that are due before it reads from sockets, and what is set for immediately after that.
    const timer = setTimeout(() => void setImmediate(judge), options.timeoutMs);
    deadline = timer;
  };
  const interval = setInterval(() => void ping(), options.intervalMs);
  interval.unref();
  void ping();
  session.once('close', () => {
    clearInterval(interval);
    clearTimeout(deadline);
  });
}
