const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** No installation is older. */
const SINCE_MS = Date.UTC(2026, 0, 1);
/** Also in the first days, and where the clock says that it is earlier. */
const AT_ANY_TIME = 1_000;
/** A rotation takes three, a gateway whose certificates are revoked one: on an average over years, several times what anybody does. */
const A_DAY = 10;
/** Whatever the date: what `keys` counts by has 31 bits, and must always have room above it. Those above are reached in 2299. */
export const MAX_VERSION = 1_000_000;

/**
 * The highest version of a trust bundle that anybody takes at that time, whatever they hold: 1,000, and ten for each day since 2026.
 *
 * Whoever signs by a root whose key leaked could otherwise give somebody the highest version there is, after which nothing of ours counts any
 * more. A bound that depends on what each holder has, as "so many ahead of its own", can be walked up in steps; and once it was, an honest
 * version above it is too far ahead for all those who were spared. This one is the same for everybody, also for who was away for months
 * and who holds none yet: a few hours later there is a version above any that was ever taken, and everybody takes it in one step. A clock
 * that is ahead is worth ten versions a day.
 */
export function highestVersion(at: Date): number {
  const days = Math.max(0, (at.getTime() - SINCE_MS) / DAY_MS);
  return Math.min(MAX_VERSION, AT_ANY_TIME + Math.floor(A_DAY * days));
}

/** The highest that is signed at that time: one that others take even if their clocks are behind by as much as lets them verify who signed it. */
export function highestToSign(at: Date): number {
  return highestVersion(new Date(at.getTime() - HOUR_MS));
}
