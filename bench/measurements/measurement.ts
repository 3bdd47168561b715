import type { Job, LoadOptions, LoadResult } from '../load/load-generator.js';
import type { Failure } from '../report/results.js';
import type { RowName, SystemName } from '../rows.js';
import type { Scale } from '../scale.js';
import type { System } from '../systems/system.js';

/** What a run of a measurement found for one row: a figure, or what failed, or both. */
export interface Finding {
  readonly value?: number;
  readonly failed?: Failure;
}
export type Findings = Partial<Record<RowName, Finding>>;

/** What a measurement works with. */
export interface Bench {
  readonly system: System;
  readonly scale: Scale;
  readonly signal: AbortSignal;
  /** Runs the load generator against the system. */
  readonly load: (job: Job, options?: Pick<LoadOptions, 'atPhase'>) => Promise<LoadResult>;
  /** The same against another one. */
  readonly loadOn: (system: System, job: Job, options?: Pick<LoadOptions, 'atPhase'>) => Promise<LoadResult>;
  /** Starts the system's processes anew. */
  readonly renew: () => Promise<void>;
  /** Waits until the system answers. Throws BenchError if it does not in time. */
  readonly answers: () => Promise<void>;
  /** Of a measurement of systems abreast: resolves when it is the turn of this one. */
  readonly turn: () => Promise<void>;
}

/** Something that is done to a system, and the rows that it yields. */
export interface Measurement {
  readonly rows: readonly RowName[];
  /** Default: all. */
  readonly systems?: readonly SystemName[];
  /** Whether it is about the systems whose agent is 50 ms away. */
  readonly far?: true;
  /** Whether the system's processes are started anew before, so that they do not hold memory of what was before. */
  readonly fresh?: true;
  /** Whether all systems are measured at the same time, and do a slice of the work in turn: what differs by less than a machine does within minutes. */
  readonly abreast?: true;
  run(bench: Bench): Promise<Findings>;
}

/** The figures, unless something failed: then every row says so. */
export function unlessFailed(
  { failed, of, reason }: LoadResult,
  figures: () => Partial<Record<RowName, number>>,
  rows: readonly RowName[],
): Findings {
  if (failed > 0) return failedIn(rows, { count: failed, of, reason });
  return Object.fromEntries(Object.entries(figures()).map(([row, value]) => [row, { value }]));
}

export function failedIn(rows: readonly RowName[], failed: Failure): Findings {
  return Object.fromEntries(rows.map((row) => [row, { failed }]));
}

/** Those that have one link for all connections: what the rows about stalls and lost bytes are about. */
export const TUNNELS: readonly SystemName[] = ['konnectivity', 'fairlead', 'fairlead-relayed'];
