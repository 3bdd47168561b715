/**
 * What a record may use of a spool that fills up. The last eighth is kept for what must be on record before it goes on, and half of that for whoever
 * comes by break-glass: an incident is when they are needed.
 */
export type Keep = 'best-effort' | 'required' | 'break-glass';

const SHARES: Readonly<Record<Keep, number>> = { 'best-effort': 14 / 16, required: 15 / 16, 'break-glass': 1 };

/** Bytes up to which a spool of `maxBytes` takes such a record. */
export function roomFor(keep: Keep, maxBytes: number): number {
  return Math.floor(SHARES[keep] * maxBytes);
}
