import type { Rate } from '@fairlead/limits';

/**
 * An installer that has seen a higher revision than is known here, as after a restored backup, takes none that is not higher still.
 * But a report is a claim: believed without a bound, one lie would use up the numbers of its cluster for ever.
 */
const MAX_STEP = 1_000;

/**
 * How often a cluster has a new revision only because its installer reports a higher one: three at once, then one in ten minutes. A restored
 * backup needs one; each is a signature, and an event that everybody's history has to hold.
 */
export const LEAP_RATE: Rate = { burst: 3, perSecond: 1 / 600 };

/** The highest revision that the cluster's installer is believed to hold. */
export function highestSeen(revision: number, observedRevision: number): number {
  return isCredible(revision, observedRevision) ? Math.max(revision, observedRevision) : revision;
}

/** What people have to know of a cluster that reports a revision which cannot have been signed; null: it does not. */
export function incredibleRevision(revision: number, observedRevision: number): string | null {
  if (isCredible(revision, observedRevision)) return null;
  return `its installer reports revision ${observedRevision}, which was never signed (the newest is ${revision}), and may ignore what is wanted`;
}

function isCredible(revision: number, observedRevision: number): boolean {
  return observedRevision <= revision + MAX_STEP;
}
