import type { ResultRow } from './report/results.js';
import type { RowName, SystemName } from './rows.js';

/** What a row must reach, against another figure of the same run or against a number. */
export interface Must {
  readonly row: RowName;
  readonly system: 'fairlead' | 'fairlead-relayed';
  readonly relation: '≥' | '≤';
  /** Of the reference; with `limit` the number itself. */
  readonly than:
    | { readonly factor: number; readonly system: SystemName; readonly row?: RowName }
    | { readonly limit: number };
}

const THROUGHPUT: readonly RowName[] = ['download_1', 'download_16', 'upload_1'];
const PINGS: readonly RowName[] = ['ping_p50', 'ping_p99'];

export const MUSTS: readonly Must[] = [
  atLeast('download_1', 2.3),
  atLeast('download_16', 2.3),
  atLeast('upload_1', 1.2),
  atMost('cpu_s_per_gb', 0.6),
  atMost('ping_p50', 1),
  atMost('ping_p99', 1),
  atLeast('conn_rate_1', 0.7),
  atLeast('conn_rate_32', 0.6),
  ...THROUGHPUT.map((row) => relayed(row, '≥', 0.5)),
  ...PINGS.map((row) => relayed(row, '≤', 1.8)),
];

export interface Verdict {
  readonly must: Must;
  /** `≥ 2.3 × konnectivity`. */
  readonly rule: string;
  /** The ratio, or the figure where the rule is a number; null if one of both is missing. */
  readonly measured: number | null;
  readonly holds: boolean | null;
}

/** Each must of the rows that were measured. */
export function judge(results: readonly ResultRow[]): Verdict[] {
  const rows = new Set(results.map(({ row }) => row));
  return MUSTS.filter(({ row }) => rows.has(row)).map((must) => verdictOn(must, results));
}

function verdictOn(must: Must, results: readonly ResultRow[]): Verdict {
  const { row, system, relation, than } = must;
  const figure = medianOf(results, row, system);
  const rule = ruleOf(must);
  const reference = 'limit' in than ? 1 : medianOf(results, than.row ?? row, than.system);
  if (figure === null || reference === null || reference === 0) return { must, rule, measured: null, holds: null };
  const measured = figure / reference;
  const bound = 'limit' in than ? than.limit : than.factor;
  return { must, rule, measured, holds: relation === '≥' ? measured >= bound : measured <= bound };
}

function ruleOf({ row, system, relation, than }: Must): string {
  if ('limit' in than) return `${relation} ${than.limit}`;
  const whose = than.system === system ? 'own' : than.system;
  return `${relation} ${than.factor} × ${whose}${than.row === undefined || than.row === row ? '' : ` ${than.row}`}`;
}

function medianOf(results: readonly ResultRow[], row: RowName, system: SystemName): number | null {
  return results.find((result) => result.row === row && result.system === system)?.median ?? null;
}

function atLeast(row: RowName, factor: number): Must {
  return { row, system: 'fairlead', relation: '≥', than: { factor, system: 'konnectivity' } };
}

function atMost(row: RowName, factor: number): Must {
  return { row, system: 'fairlead', relation: '≤', than: { factor, system: 'konnectivity' } };
}

function relayed(row: RowName, relation: Must['relation'], factor: number): Must {
  return { row, system: 'fairlead-relayed', relation, than: { factor, system: 'fairlead' } };
}
