import { ROWS, ROW_NAMES, SYSTEMS, unitOf, type Row, type RowName, type SystemName } from '../rows.js';
import type { Scale } from '../scale.js';
import { median } from './statistics.js';

/** Requests or connections of one row and system that went wrong, of how many, and the first reason. */
export interface Failure {
  readonly count: number;
  readonly of: number;
  readonly reason: string;
}

/** One row of one system, as `--json` writes it. */
export interface ResultRow {
  readonly row: RowName;
  readonly system: SystemName;
  readonly unit: string;
  /** One figure a run, in order, of the runs that yielded one. */
  readonly runs: readonly number[];
  /** Null if no run did. */
  readonly median: number | null;
  /** Only if something failed on the way through the system. */
  readonly failed?: Failure;
  /** Only if it could not be measured: why. */
  readonly unmeasured?: string;
}

/**
 * One figure as so many times another, of the same row or not; null where either is missing. Of systems that were measured abreast: the median of what
 * each run says.
 */
export function ratioOf(dividend: ResultRow | undefined, divisor: ResultRow | undefined): number | null {
  if (!dividend || !divisor) return null;
  const { abreast }: Row = ROWS[dividend.row];
  if (abreast && dividend.runs.length === divisor.runs.length)
    return median(dividend.runs.flatMap((value, run) => quotient(value, divisor.runs[run] ?? null) ?? []));
  return quotient(dividend.median, divisor.median);
}

function quotient(above: number | null, below: number | null): number | null {
  return above === null || below === null || below === 0 ? null : above / below;
}

export interface Cell {
  runs: number[];
  failed?: Failure;
  unmeasured?: string;
}
/** By row and system: what a run that is cut off leaves to the next. */
export type Cells = Record<string, Cell>;

/** Collects what the runs of a benchmark found. */
export class Results {
  readonly cells: Cells;

  constructor(cells: Cells = {}) {
    this.cells = cells;
  }

  add(row: RowName, system: SystemName, value: number): void {
    this.#cell(row, system).runs.push(value);
  }

  /** Counts of several runs are added up; the first reason stays. */
  fail(row: RowName, system: SystemName, failure: Failure): void {
    const cell = this.#cell(row, system);
    const { count, of, reason } = cell.failed ?? { count: 0, of: 0, reason: failure.reason };
    cell.failed = { count: count + failure.count, of: of + failure.of, reason };
  }

  /** The first reason stays. */
  unmeasured(row: RowName, system: SystemName, reason: string): void {
    this.#cell(row, system).unmeasured ??= reason;
  }

  /** What was measured, row by row, systems in the order of the columns. */
  rows(scale: Scale): ResultRow[] {
    const pairs = ROW_NAMES.flatMap((row) => SYSTEMS.map((system) => ({ row, system })));
    return pairs.flatMap(({ row, system }) => {
      const cell = this.cells[keyOf(row, system)];
      if (!cell) return [];
      const { runs, failed, unmeasured } = cell;
      return [
        {
          row,
          system,
          unit: unitOf(row, scale),
          runs: runs.map((value) => round(value)),
          median: roundOrNull(median(runs)),
          ...(failed ? { failed } : {}),
          ...(unmeasured === undefined ? {} : { unmeasured }),
        },
      ];
    });
  }

  #cell(row: RowName, system: SystemName): Cell {
    return (this.cells[keyOf(row, system)] ??= { runs: [] });
  }
}

const keyOf = (row: RowName, system: SystemName): string => `${row}/${system}`;
const round = (value: number): number => Number(value.toPrecision(5));
const roundOrNull = (value: number | null): number | null => (value === null ? null : round(value));
