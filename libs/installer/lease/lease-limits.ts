/** How long who says nothing may hold a Lease. The values are client-go's (tools/leaderelection). */
export interface LeaseLimits {
  /** After so long without a sign of life from its holder, as another one sees it, that one takes it. */
  readonly durationMs: number;
  /** So long after it was renewed its holder still writes. Less than the duration: what is under way has the rest to arrive. */
  readonly deadlineMs: number;
  /** Between two attempts to renew or to take it, on average. */
  readonly retryMs: number;
}

export const LEASE_LIMITS: LeaseLimits = { durationMs: 15_000, deadlineMs: 10_000, retryMs: 2_000 };
