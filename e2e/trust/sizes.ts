import { atScale } from '../support/at-scale.js';

/** How much of everything. Scenarios of trust take their numbers from here alone. */
export interface TrustSizes {
  /** Agents during the rotation of a root: those in processes of their own, and those in one process. */
  readonly processes: number;
  readonly inOneProcess: number;
  /** Life of certificates during the rotation, seconds. */
  readonly rotationLifeSeconds: number;
  /** Life of certificates that go round and round, seconds, and for how long. */
  readonly shortLifeSeconds: number;
  readonly shortForSeconds: number;
  /** Addresses that ask to be adopted, 20 times each, beside one that asks 500 times. */
  readonly floodAddresses: number;
  readonly judgesTimes: boolean;
}

export const FULL: TrustSizes = {
  processes: 12,
  inOneProcess: 38,
  rotationLifeSeconds: 60,
  shortLifeSeconds: 60,
  shortForSeconds: 600,
  // Together 10,000.
  floodAddresses: 475,
  judgesTimes: true,
};

/** As in `npm test`. */
export const SCALED: TrustSizes = {
  processes: 2,
  inOneProcess: 4,
  rotationLifeSeconds: 30,
  shortLifeSeconds: 20,
  shortForSeconds: 120,
  // Together 2,500: the queue holds 1,000.
  floodAddresses: 100,
  judgesTimes: false,
};

/** The full sizes times `scale`, at least what makes sense. */
export function scaled(scale: number): TrustSizes {
  const least = {
    processes: 2,
    inOneProcess: 2,
    rotationLifeSeconds: 20,
    shortLifeSeconds: 20,
    shortForSeconds: 60,
    floodAddresses: 100,
  };
  return atScale(FULL, least, scale);
}
