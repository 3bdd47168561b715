import { ROWS, SYSTEMS, type RowName, type SystemName } from '../rows.js';
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
  /** One figure a run, in order, of the runs in which nothing failed. */
  readonly runs: readonly number[];
  /** Null if no run succeeded. */
  readonly median: number | null;
  /** Only if something failed. */
  readonly failed?: Failure;
}

/** Collects what the runs of a benchmark found. */
export class Results {
  readonly #cells = new Map<string, { runs: number[]; failed: Failure | null }>();

  add(row: RowName, system: SystemName, value: number): void {
    this.#cell(row, system).runs.push(value);
  }

  /** Counts of several runs are added up; the first reason stays. */
  fail(row: RowName, system: SystemName, failure: Failure): void {
    const cell = this.#cell(row, system);
    const { count, of, reason } = cell.failed ?? { count: 0, of: 0, reason: failure.reason };
    cell.failed = { count: count + failure.count, of: of + failure.of, reason };
  }

  /** What was measured, row by row, systems in the order of the columns. */
  rows(): ResultRow[] {
    const pairs = (Object.keys(ROWS) as RowName[]).flatMap((row) => SYSTEMS.map((system) => ({ row, system })));
    return pairs.flatMap(({ row, system }) => {
      const cell = this.#cells.get(keyOf(row, system));
      if (!cell) return [];
      const runs = cell.runs.map((value) => round(value));
      const failed = cell.failed ? { failed: cell.failed } : {};
      return [{ row, system, unit: ROWS[row].unit, runs, median: roundOrNull(median(cell.runs)), ...failed }];
    });
  }

  #cell(row: RowName, system: SystemName): { runs: number[]; failed: Failure | null } {
    const key = keyOf(row, system);
    const known = this.#cells.get(key);
    if (known) return known;
    const cell = { runs: [], failed: null };
    this.#cells.set(key, cell);
    return cell;
  }
}

const keyOf = (row: RowName, system: SystemName): string => `${row}/${system}`;
const round = (value: number): number => Number(value.toPrecision(5));
const roundOrNull = (value: number | null): number | null => (value === null ? null : round(value));
