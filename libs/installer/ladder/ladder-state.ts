import { z } from 'zod';

/** What is wrong with the tool, if anything: the first layer that is not as it should be. */
export interface Finding {
  readonly layer: 'objects' | 'workloads' | 'functional';
  readonly code: string;
  readonly message: string;
  /** Names of the Deployments that it concerns; empty for the layer `objects`. */
  readonly workloads: readonly string[];
}

/** What was observed of the cluster, and what the spec says of its repair. */
export interface Observation {
  /** Changes with each thing that is desired; a new one is applied whatever `selfHeal` says, and begins at the first rung. */
  readonly wanted: string;
  /** The cluster was once brought to that as a whole. */
  readonly applied: boolean;
  /** The bundle that runs was healthy once: it is repaired; one that never was is given up for the last good one. */
  readonly proven: boolean;
  /** There is a last good bundle, and it is another one than that which runs. */
  readonly canRollBack: boolean;
  readonly selfHeal: 'enforce' | 'observe' | 'off';
  readonly holdRepairs: boolean;
  readonly finding: Finding | null;
}

export const Rung = z.enum(['apply', 'restart', 'recreate', 'roll-back', 'escalate']);
export type Rung = z.infer<typeof Rung>;

export const LadderStatus = z.enum(['healthy', 'installing', 'repairing', 'degraded', 'escalated']);
export type LadderStatus = z.infer<typeof LadderStatus>;

export const LadderState = z.object({
  status: LadderStatus,
  /** Of the observation that it was made by. */
  wanted: z.string(),
  /** Next rung to be tried. */
  rung: Rung,
  /** Actions of the rung that were tried since the last healthy observation. */
  tries: z.int().min(0),
  /** What was wrong at the last observation; null: nothing. */
  layer: z.enum(['objects', 'workloads', 'functional']).nullable(),
  /** Before then nothing more is done: the last action has its time. Milliseconds since the epoch, as all times here. */
  notBeforeMs: z.number(),
  /** When the actions of the last hour were. Kept over a healthy observation, so that a slow fight ends too. */
  spentMs: z.array(z.number()).max(200),
});
export type LadderState = z.infer<typeof LadderState>;

export interface LadderAction {
  readonly rung: Exclude<Rung, 'escalate'>;
  readonly finding: Finding | null;
}

export interface LadderLimits {
  /** Actions in an hour; then somebody has to look. A new desired state is applied all the same. */
  readonly repairsPerHour: number;
  /** Between two times that trust is put back without the ladder: as often as it is looked at. */
  readonly trustMs: number;
  /** Tries of `apply` before the next rung. */
  readonly applies: number;
  /** What a layer has to become well by itself, when it is first seen unwell and after each action; besides a wait with jitter. */
  readonly settleMs: { readonly objects: number; readonly workloads: number; readonly functional: number };
  readonly backoff: { readonly baseMs: number; readonly capMs: number };
}

export const LADDER_LIMITS: LadderLimits = {
  repairsPerHour: 30,
  trustMs: 10_000,
  applies: 6,
  settleMs: { objects: 5_000, workloads: 120_000, functional: 60_000 },
  backoff: { baseMs: 2_000, capMs: 60_000 },
};

export const STILL: LadderState = {
  status: 'healthy',
  wanted: '',
  rung: 'apply',
  tries: 0,
  layer: null,
  notBeforeMs: 0,
  spentMs: [],
};
