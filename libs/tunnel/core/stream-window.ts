import { LIMITS } from './limits.js';

/**
 * The HTTP/2 window a stream of one session needs, in bytes: what is on its way at full rate on a path with this round
 * trip, but no more than its share when many streams are open, so that all of them together may stall and the
 * connection's window still has room for others. A power of two, so that small changes of either change nothing.
 */
export function streamWindow(roundTripMs: number, openStreams: number): number {
  const onItsWay = (roundTripMs / 1000) * LIMITS.pathBytesPerSecond;
  const share = LIMITS.stalledBytesPerSession / Math.max(openStreams, 1);
  const wanted = Math.min(powerOfTwoFrom(onItsWay), powerOfTwoUpTo(share));
  return Math.min(Math.max(wanted, LIMITS.minStreamWindowBytes), LIMITS.maxStreamWindowBytes);
}

function powerOfTwoFrom(bytes: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(bytes, 1)));
}

function powerOfTwoUpTo(bytes: number): number {
  return 2 ** Math.floor(Math.log2(bytes));
}
