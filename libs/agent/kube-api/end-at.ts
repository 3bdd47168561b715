import type { Duplex } from 'node:stream';
import type { SignedTime } from '@fairlead/access-statement/signed-time';
import { FairleadError } from '@fairlead/errors';

/** Timers do not wait for longer than about 24 days; and a clock that was set forward is noticed by then. */
const MAX_WAIT_MS = 30_000;

/** Ends a tunnel at a time of the clock, whatever runs on it. */
export function endAt(tunnel: Duplex, untilMs: number, time: SignedTime): void {
  let timer: NodeJS.Timeout;
  const look = (): void => {
    const leftMs = untilMs - time.nowMs();
    if (leftMs <= 0)
      tunnel.destroy(new FairleadError('STATEMENT_EXPIRED', 'the access statement of this connection has ended'));
    else timer = setTimeout(look, Math.min(leftMs, MAX_WAIT_MS)).unref();
  };
  timer = setTimeout(look, 0).unref();
  tunnel.once('close', () => clearTimeout(timer));
}
