import { fullJitterMs } from '@fairlead/clock';
import type { ErrorCode, FairleadError } from '@fairlead/errors';

/**
 * How one try to keep a link ended. `brief`: it lived for less than BRIEF_MS. `nobody-listens`: the connection was refused,
 * which cost nobody anything.
 */
export type LinkOutcome = 'lived' | 'brief' | 'drained' | 'same-replica' | 'failed' | 'nobody-listens' | 'refused';

export interface Ended {
  readonly outcome: LinkOutcome;
  /** As `Tries` counts them. */
  readonly before: number;
  /** Every dial reaches a replica that is linked already. */
  readonly degraded: boolean;
  /** Links of this agent that stand. */
  readonly otherLinks: number;
  /** Links of the replica that was lost, as it said last; 0 if it never did. */
  readonly crowd: number;
}

/** Dials that may reach an already linked replica before the agent calls itself degraded. */
const SAME_REPLICA_DIALS = 6;
/** A link that ends sooner says nothing good about its replica. */
export const BRIEF_MS = 10_000;
/** Brief links in a row after which it no longer counts how few the replica says they are: it may end every one. */
const BRIEF_LINKS = 8;

const PERMANENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'CERTIFICATE_REFUSED',
  'CERTIFICATE_REVOKED',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'INVALID_ARGUMENT',
  'VERSION_UNSUPPORTED',
  'WRONG_CLUSTER',
]);
const RETRY = { baseMs: 500, capMs: 20_000 };
/** By how much each try that finds nobody listening waits longer than the one before it. */
const REFUSED_GROWTH = 1.25;
/**
 * Who loses a link is seldom alone: all agents of a replica lose theirs at once. Twice to four times what each of them
 * costs a replica's CPU, which has its own start to pay for as well.
 */
const SPREAD_MS = { perLink: 10, least: 50, most: 5_000 };
/** For a replica that does not say how many they are: longer, if they can be reached meanwhile. */
const UNKNOWN_CROWD_MS = { alone: 1_000, linked: 2_000 };
/** After a refusal that only a person can lift, or when every dial reaches a replica that is linked already. */
const SLOW_MS = 60_000;

/** Is this how a link ends that stood? */
function stood(outcome: LinkOutcome): boolean {
  return outcome === 'lived' || outcome === 'brief' || outcome === 'drained';
}

/** How often each outcome came, since a link stood; brief ones, since one lived. */
export class Tries {
  readonly #counts = new Map<LinkOutcome, number>();

  /** How often this one came before; counts it. */
  count(outcome: LinkOutcome): number {
    const before = this.#counts.get(outcome) ?? 0;
    if (stood(outcome)) this.#counts.clear();
    this.#counts.set(outcome, before + 1);
    return before;
  }
}

/** The dials of one link to keep. */
export class SlotPace {
  #tries = new Tries();
  #sameReplica = 0;
  #attempt = 0;

  /** Dials since a link stood. */
  get attempt(): number {
    return this.#attempt;
  }

  /** Every dial reaches a replica that is linked already. */
  get degraded(): boolean {
    return this.#sameReplica >= SAME_REPLICA_DIALS;
  }

  /** A link of it stands. */
  linked(): void {
    this.#sameReplica = 0;
  }

  /** Counts how a dial, or the link that it made, ended. How long to wait before the next one, in milliseconds. */
  ended(outcome: LinkOutcome, links: Pick<Ended, 'otherLinks' | 'crowd'>): number {
    const before = this.#tries.count(outcome);
    this.#attempt = stood(outcome) ? 0 : this.#attempt + 1;
    this.#sameReplica = outcome === 'same-replica' ? this.#sameReplica + 1 : 0;
    return pauseMs({ outcome, before, degraded: this.degraded, ...links });
  }

  /** There is another replica to reach: as if nothing had been dialled. How long to wait before the next dial, in milliseconds. */
  anew(crowd: number, random = Math.random): number {
    this.#tries = new Tries();
    this.#sameReplica = 0;
    return random() * spreadMs(crowd);
  }
}

/** What a failure to link means for the next try. */
export function outcomeOf({ code, cause }: FairleadError): 'refused' | 'nobody-listens' | 'failed' {
  if (PERMANENT.has(code)) return 'refused';
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED' ? 'nobody-listens' : 'failed';
}

/** How long to wait before the next dial, in milliseconds: full jitter, so that a crowd does not come in step. */
export function pauseMs({ outcome, before, degraded, otherLinks, crowd }: Ended, random = Math.random): number {
  if (outcome === 'refused' || degraded) return SLOW_MS * (0.5 + random());
  if (outcome === 'lived' || outcome === 'brief') {
    const unknownMs = UNKNOWN_CROWD_MS[otherLinks > 0 ? 'linked' : 'alone'];
    if (crowd === 0) return random() * unknownMs;
    const leastMs = outcome === 'brief' && before >= BRIEF_LINKS ? unknownMs : 0;
    return random() * Math.max(leastMs, spreadMs(crowd));
  }
  if (outcome === 'nobody-listens' && crowd > 0) {
    return random() * Math.min(RETRY.capMs, 2 * spreadMs(crowd) * REFUSED_GROWTH ** before);
  }
  return fullJitterMs(before + 1, RETRY, random);
}

/** Over how many milliseconds so many come. A replica can make an agent wait no longer than the most, whatever it says. */
function spreadMs(links: number): number {
  return Math.min(SPREAD_MS.most, Math.max(SPREAD_MS.least, links * SPREAD_MS.perLink));
}
