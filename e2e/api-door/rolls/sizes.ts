import { atScale } from '../../support/at-scale.js';

/** How long, and how much. The stories take their numbers from here alone. */
export interface Sizes {
  /** How long informers run while the replicas are rolled in turn. */
  readonly informersMs: number;
  readonly writesPerSecond: number;
  /** How often each replica is rolled under an election. */
  readonly electionRolls: number;
  /** How often the leader is killed. */
  readonly kills: number;
  /** Between two rolls, once all is ready again. */
  readonly pauseMs: number;
  /** Whether times count; none does here yet. */
  readonly judgesTimes: boolean;
}

export const FULL: Sizes = {
  informersMs: 3_600_000,
  writesPerSecond: 20,
  electionRolls: 20,
  kills: 10,
  // A replica takes a certificate at each start, and is kept out when 120 of its certificates are live (libs/keys).
  pauseMs: 30_000,
  judgesTimes: true,
};

/** As in `npm run test:full`. */
export const SCALED: Sizes = {
  informersMs: 120_000,
  writesPerSecond: 20,
  electionRolls: 2,
  kills: 2,
  pauseMs: 2_000,
  judgesTimes: false,
};

/** The full sizes times `scale`, at least what makes sense. */
export function scaled(scale: number): Sizes {
  const least = { informersMs: SCALED.informersMs, electionRolls: SCALED.electionRolls, kills: SCALED.kills };
  return { ...atScale(FULL, least, scale), pauseMs: scale >= 1 ? FULL.pauseMs : SCALED.pauseMs };
}
