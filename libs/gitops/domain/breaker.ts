/** Of the fleet of one tenant. */
export interface BreakerState {
  readonly state: 'closed' | 'open';
  readonly code: string | null;
  /** That had it alike when it opened, and of how many. */
  readonly clusters: number;
  readonly of: number;
  readonly sinceMs: number | null;
  /** What clusters had before somebody closed it does not open it again. */
  readonly resetAtMs: number;
}

export interface BreakerLimits {
  /** So many clusters at least, */
  readonly minClusters: number;
  /** and such a share of those that report, 0 to 1, */
  readonly share: number;
  /** newly say the same within so long. */
  readonly windowMs: number;
  /** Repairs are held for no longer than this, however long it stays open. */
  readonly holdRepairsMs: number;
}

export interface BreakerObservation {
  /** Clusters that report and have something to do. */
  readonly of: number;
  readonly problems: readonly {
    readonly code: string;
    /** That came to have it within the window, and since the last reset. */
    readonly fresh: number;
    /** That have it now. */
    readonly now: number;
  }[];
}

export const CLOSED: BreakerState = { state: 'closed', code: null, clusters: 0, of: 0, sinceMs: null, resetAtMs: 0 };

/** Opens when many come to fail alike, and closes when half of as many as that have recovered. */
export function stepBreaker(
  breaker: BreakerState,
  { of, problems }: BreakerObservation,
  nowMs: number,
  limits: BreakerLimits,
): BreakerState {
  const threshold = Math.max(limits.minClusters, Math.ceil(limits.share * of));
  if (breaker.state === 'open') {
    const left = problems.find(({ code }) => code === breaker.code)?.now ?? 0;
    return left * 2 > threshold ? breaker : { ...CLOSED, resetAtMs: nowMs };
  }
  const worst = problems.filter(({ fresh }) => fresh >= threshold).sort((a, b) => b.fresh - a.fresh)[0];
  if (!worst) return breaker;
  return { ...breaker, state: 'open', code: worst.code, clusters: worst.fresh, of, sinceMs: nowMs };
}

export function resetBreaker(nowMs: number): BreakerState {
  return { ...CLOSED, resetAtMs: nowMs };
}

/** Are installers to hold back repairs? */
export function holdsRepairs({ state, sinceMs }: BreakerState, nowMs: number, limits: BreakerLimits): boolean {
  return state === 'open' && sinceMs !== null && nowMs - sinceMs < limits.holdRepairsMs;
}
