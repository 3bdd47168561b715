import { KeyRotationReason } from '@fairlead/contracts';
import { z } from 'zod';

const Key = z.object({
  number: z.int().min(1).max(1_000_000),
  /** As the cluster reported it; null: it has not made it yet. */
  publicKey: z.string().nullable(),
  /** The Git host has it, or only the cluster can find out. It stays so: a key that vanishes there is put back by `keys`. */
  ready: z.boolean(),
  /** What somebody has to do on the Git host, as long as it does not work; null: `keys` does it. */
  byHand: z.string().nullable(),
  /** Which rotation it is of; absent: of none. */
  why: KeyRotationReason.exactOptional(),
  /** When the rotation that it is of began. Epoch milliseconds. */
  begunAtMs: z.number().exactOptional(),
  /** When it was first known to be ready: its age counts from then on. Epoch milliseconds. */
  readyAtMs: z.number().exactOptional(),
  /** The key before it is withdrawn already, because it counts as compromised: until this one is ready, nothing is fetched. */
  held: z.literal(true).exactOptional(),
});
export type Key = z.infer<typeof Key>;

/** A cluster's deploy keys, as far as numbers go. */
export const DeployKeyState = z.object({
  /** Where they are, or are to be. Null: nothing is followed. */
  repositoryId: z.uuid().nullable(),
  /** The highest number that there was; none is used twice. */
  highest: z.int().min(1).max(1_000_000),
  current: Key,
  next: Key.nullable(),
  /** What it has left of numbers for keys that it changed by itself, as of a moment, in epoch milliseconds. */
  allowance: z.object({ left: z.number(), atMs: z.number() }).exactOptional(),
  /** To leave their repositories once the cluster was brought to this revision; null: none was made yet. */
  drops: z.array(
    z.object({
      repositoryId: z.uuid(),
      number: z.int().min(1),
      afterRevision: z.int().min(0).nullable(),
      /** Absent: of one that was withdrawn before it was noted. */
      publicKey: z.string().exactOptional(),
      /** Whatever its cluster does: it counts as compromised. */
      atOnce: z.literal(true).exactOptional(),
    }),
  ),
});
export type DeployKeyState = z.infer<typeof DeployKeyState>;

export interface ReportedKey {
  readonly number: number;
  readonly publicKey: string;
  readonly works: boolean | null;
}

export function newDeployKeys(): DeployKeyState {
  return {
    repositoryId: null,
    highest: 1,
    current: { number: 1, publicKey: null, ready: false, byHand: null },
    next: null,
    drops: [],
  };
}

/** Numbers that a cluster gets at once for keys that it changed by itself; then one in so long. */
const BURST = 4;
const REFILL_MS = 600_000;

/** Undefined: it never used any. */
type NumberAllowance = NonNullable<DeployKeyState['allowance']>;

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
