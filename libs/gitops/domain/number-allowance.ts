/** Numbers that a cluster gets at once for keys that it changed by itself; then one in so long. */
const BURST = 4;
const REFILL_MS = 600_000;

/** What a cluster has left, as of a moment. Undefined: it never used any. */
export interface NumberAllowance {
  readonly left: number;
  /** Epoch milliseconds. */
  readonly atMs: number;
}

/** One less. Null: there is none left now. */
export function useNumber(allowance: NumberAllowance | undefined, nowMs: number): NumberAllowance | null {
  const left = leftNow(allowance, nowMs);
  return left < 1 ? null : { left: left - 1, atMs: nowMs };
}

/** When the next number is to be had; now or earlier: at once. Epoch milliseconds. */
export function nextNumberAtMs(allowance: NumberAllowance | undefined, nowMs: number): number {
  return nowMs + Math.ceil(Math.max(0, 1 - leftNow(allowance, nowMs)) * REFILL_MS);
}

function leftNow(allowance: NumberAllowance | undefined, nowMs: number): number {
  if (!allowance) return BURST;
  return Math.min(BURST, allowance.left + Math.max(0, nowMs - allowance.atMs) / REFILL_MS);
}
