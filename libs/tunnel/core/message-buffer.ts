/** Room for most messages; for a larger one it doubles as the bytes come, so that to announce one costs nothing. */
const FIRST_ROOM_BYTES = 256;

/** The same bytes with room for `neededBytes`: at least twice as much as before, and never more than `mostBytes`. */
export function withRoomFor(held: Buffer, neededBytes: number, mostBytes: number): Buffer {
  if (neededBytes <= held.length) return held;
  const room = Math.min(Math.max(neededBytes, 2 * held.length, FIRST_ROOM_BYTES), mostBytes);
  // Not from the pool of small Buffers: a held one would keep a whole slab alive.
  const larger = Buffer.allocUnsafeSlow(room);
  held.copy(larger);
  return larger;
}
