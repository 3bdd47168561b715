import { atScale } from '../../support/at-scale.js';

/** How much of everything. Scenarios take their numbers from here alone. */
export interface AuditSizes {
  /** Of each scenario: five make a million. */
  readonly requests: number;
  /** Of all workers together; undefined: as fast as they are answered. */
  readonly perSecond: number | undefined;
  /** How often each scenario disturbs. */
  readonly times: number;
  /** How long NATS is away, and the load meanwhile, a second. */
  readonly awayMs: number;
  readonly awayPerSecond: number;
  readonly judgesTimes: boolean;
}

export const FULL: AuditSizes = {
  requests: 200_000,
  perSecond: undefined,
  times: 10,
  awayMs: 600_000,
  awayPerSecond: 200,
  judgesTimes: true,
};

/** As in `npm test`, which has one load for all disturbances together. */
export const SCALED: AuditSizes = {
  requests: 1_500,
  perSecond: 45,
  times: 1,
  awayMs: 6_000,
  awayPerSecond: 60,
  judgesTimes: false,
};

/** The full sizes times `scale`, at least what makes sense. */
export function scaled(scale: number): AuditSizes {
  const least = { requests: 1_000, times: 1, awayMs: SCALED.awayMs };
  return atScale(FULL, least, scale);
}
