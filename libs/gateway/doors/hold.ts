/** How long who was refused keeps its connection, which nobody reads: it would dial anew at once, and each handshake costs more than its answer. */
const HOLD_MS = 3_000;
/** And so much longer at random: those that were refused together must not come back together. */
const HOLD_JITTER_MS = 2_000;

/** How long to hold one of them. */
export function holdMs(): number {
  return HOLD_MS + Math.random() * HOLD_JITTER_MS;
}
