import { atScale } from '../support/at-scale.js';

/** How much of everything. Scenarios take their numbers from here alone. */
export interface Sizes {
  /** Transfers that run while a replica is killed. */
  readonly transfers: number;
  /** Replicas killed, one after the other. */
  readonly kills: number;
  /** Long connections while each replica is rolled. */
  readonly longOnes: number;
  /** Clusters of the fleet, and links that each keeps. */
  readonly fleetClusters: number;
  readonly fleetLinks: number;
  /** Transfers of each kind of the exactness scenario. */
  readonly exact: number;
  /** Connections that are given up. */
  readonly cancels: number;
  /** Stalled connections of each kind. */
  readonly stalls: number;
  /** Pings while they stall. */
  readonly pings: number;
  /** Whether times count: at full size only, for which somebody picks a machine that does nothing else. */
  readonly judgesTimes: boolean;
}

export const FULL: Sizes = {
  transfers: 200,
  kills: 3,
  longOnes: 60,
  fleetClusters: 1_000,
  fleetLinks: 2,
  exact: 500,
  cancels: 10_000,
  stalls: 20,
  pings: 2_000,
  judgesTimes: true,
};

/** As in `npm test`. */
export const SCALED: Sizes = {
  transfers: 40,
  kills: 2,
  longOnes: 12,
  fleetClusters: 50,
  fleetLinks: 2,
  exact: 10,
  cancels: 200,
  stalls: 5,
  pings: 200,
  judgesTimes: false,
};

/** The full sizes times `scale`, at least what makes sense. */
export function scaled(scale: number): Sizes {
  const least = { transfers: 6, kills: 2, longOnes: 6, fleetClusters: 10, exact: 2, cancels: 50, stalls: 2, pings: 50 };
  return atScale(FULL, least, scale);
}
