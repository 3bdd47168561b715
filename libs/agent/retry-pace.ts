import { fullJitterMs } from '@fairlead/clock';

/** How one try to keep a link ended. */
export type LinkOutcome = 'lived' | 'drained' | 'same-replica' | 'failed' | 'refused';

export interface Ended {
  readonly outcome: LinkOutcome;
  /** Dials in a row that came to nothing; -1 after a link that lived. */
  readonly attempt: number;
  /** Every dial reaches a replica that is linked already. */
  readonly degraded: boolean;
  /** Links of this agent that stand. */
  readonly otherLinks: number;
}

/** Dials that may reach an already linked replica before the agent calls itself degraded. */
export const SAME_REPLICA_DIALS = 6;

/** The first retry within a second: with less, all whom a restarting replica was away for come when it is back. */
const RETRY = { baseMs: 500, capMs: 20_000 };
/**
 * Who loses a link is seldom alone: all agents of a replica lose theirs at once. They come back over a second, which a
 * restarting replica needs anyway; over two, if they can be reached meanwhile.
 */
const LOST_MS = { alone: 1_000, linked: 2_000 };
/** After a refusal that only a person can lift, or when every dial reaches a replica that is linked already. */
const SLOW_MS = 60_000;

/** How long to wait before the next dial, in milliseconds: full jitter, so that a crowd does not come in step. */
export function pauseMs({ outcome, attempt, degraded, otherLinks }: Ended, random = Math.random): number {
  if (outcome === 'refused' || degraded) return SLOW_MS * (0.5 + random());
  if (outcome === 'lived') return random() * (otherLinks > 0 ? LOST_MS.linked : LOST_MS.alone);
  return fullJitterMs(attempt + 1, RETRY, random);
}
