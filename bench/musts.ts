import { ratioOf, type ResultRow } from './report/results.js';
import type { RowName, SystemName } from './rows.js';

/** What a row must reach, against another figure of the same run or against a number. */
export interface Must {
  readonly row: RowName;
  readonly system: 'fairlead' | 'fairlead-relayed' | 'audit-best-effort' | 'audit-required';
  readonly relation: '≥' | '≤';
  readonly than:
    | { readonly factor: number; readonly system: SystemName; readonly row?: RowName }
    /** What it takes beyond another system, in the row's unit. */
    | { readonly beyond: number; readonly system: SystemName }
    | { readonly limit: number }
    /** Every try of a row that counts them. */
    | { readonly all: true };
}

/** What an audit may add to what a request costs a gateway, and to what a reader waits. */
const AUDITED = ['audit-best-effort', 'audit-required'] as const;
const BOTH = ['fairlead', 'fairlead-relayed'] as const;
const THROUGHPUT: readonly RowName[] = ['download_1', 'download_16', 'upload_1'];
const PINGS: readonly RowName[] = ['ping_p50', 'ping_p99'];
const EXACT: readonly RowName[] = ['write_then_close', 'half_close', 'server_first_banner', 'abort_16'];
/** Idle pings of the same processes just before, pings beside the stall, new connections beside it. */
const STALLS: readonly (readonly [RowName, RowName, RowName])[] = [
  ['ping_p99_before_stall1', 'ping_p99_stall1', 'new_beside_stall1'],
  ['ping_p99_before_stall20', 'ping_p99_stall20', 'new_beside_stall20'],
  ['ping_p99_before_stall_up1', 'ping_p99_stall_up1', 'new_beside_stall_up1'],
];

const MUSTS: readonly Must[] = [
  atLeast('download_1', 2.3),
  atLeast('download_16', 2.3),
  atLeast('upload_1', 1.2),
  atMost('cpu_s_per_gb', 0.6),
  atMost('ping_p50', 1),
  atMost('ping_p99', 1),
  atMost('ping_p99_bulk4', 0.7),
  ...STALLS.flatMap(([idle, ping, fresh]) => besideStall(idle, ping, fresh)),
  // The bound that is stated, 20 times 4 MiB per tunnel and end, is the weaker one.
  limit('mem_stall20_mb', '≤', 40),
  atLeast('conn_rate_1', 0.7),
  atLeast('conn_rate_32', 0.6),
  atMost('mem_idle_tunnel_kb', 1.3),
  atMost('mem_idle_agent_kb', 1.3),
  ...EXACT.flatMap((row) => allOf(row)),
  atMost('ping_p99_bulk4_wan', 1),
  atLeast('bulk4_wan', 0.9),
  atLeast('wan_50ms_first', 0.9),
  atLeast('wan_50ms_again', 0.9),
  atMost('recover_gateway_ms', 1.5),
  atMost('recover_agent_ms', 1.5),
  limit('recover_failed_tries', '≤', 0),
  ...THROUGHPUT.map((row) => relayed(row, '≥', 0.5)),
  ...PINGS.map((row) => relayed(row, '≤', 1.8)),
  ...AUDITED.flatMap((system): Must[] => [
    { row: 'audit_cpu_read', system, relation: '≤', than: { factor: 1.05, system: 'audit-off' } },
    { row: 'audit_read_p50', system, relation: '≤', than: { factor: 1.03, system: 'audit-off' } },
  ]),
  { row: 'audit_syncs_1', system: 'audit-required', relation: '≤', than: { limit: 1.1 } },
  beyondDirect('api_get_p50', 1_200),
  against('api_get_p99', '≤', 3, 'reverse-proxy-go'),
  against('api_rate_16', '≥', 0.6, 'kubectl-proxy'),
  against('api_connect_p50', '≤', 1.6, 'direct'),
  against('api_list_5mb', '≤', 1.15, 'direct'),
  relayed('api_get_p50', '≤', 1.25),
  beyondDirect('api_exec_p50', 1_000),
  limit('api_watch_gateway_kb', '≤', 40),
  limit('api_watch_agent_kb', '≤', 40),
  limit('api_idle_agent_mb', '≤', 80),
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
  const { row, system, relation } = must;
  const figure = resultOf(results, row, system);
  const rule = ruleOf(must);
  // What was measured and yielded nothing but failures does not hold, whatever the reference.
  if (figure?.median === null && figure.failed) return { must, rule, measured: null, holds: false };
  const measured = measuredOf(must, figure, results);
  if (measured === null) return { must, rule, measured, holds: null };
  const bound = boundOf(must, results);
  return { must, rule, measured, holds: relation === '≥' ? measured >= bound : measured <= bound };
}

/** What the bound is of; null if one of its figures is missing. */
function measuredOf({ row, than }: Must, figure: ResultRow | undefined, results: readonly ResultRow[]): number | null {
  if (!('system' in than)) return figure?.median ?? null;
  const reference = resultOf(results, ('row' in than && than.row) || row, than.system);
  if ('factor' in than) return ratioOf(figure, reference);
  if (!figure || !reference || figure.median === null || reference.median === null) return null;
  return figure.median - reference.median;
}

function boundOf({ row, than }: Must, results: readonly ResultRow[]): number {
  if ('limit' in than) return than.limit;
  if ('beyond' in than) return than.beyond;
  if ('factor' in than) return than.factor;
  // Such a row's unit is `of 500`.
  return Number(
    results
      .find((result) => result.row === row)
      ?.unit.split(' ')
      .at(-1),
  );
}

function ruleOf({ row, system, relation, than }: Must): string {
  if ('all' in than) return 'be all';
  if ('limit' in than) return `${relation} ${than.limit}`;
  if ('beyond' in than) return `${relation} ${than.beyond} beyond ${than.system}`;
  const whose = than.system === system ? 'own' : than.system;
  return `${relation} ${than.factor} × ${whose}${than.row === undefined || than.row === row ? '' : ` ${than.row}`}`;
}

function resultOf(results: readonly ResultRow[], row: RowName, system: SystemName): ResultRow | undefined {
  return results.find((result) => result.row === row && result.system === system);
}

function atLeast(row: RowName, factor: number): Must {
  return against(row, '≥', factor, 'konnectivity');
}

function atMost(row: RowName, factor: number): Must {
  return against(row, '≤', factor, 'konnectivity');
}

function against(row: RowName, relation: Must['relation'], factor: number, system: SystemName): Must {
  return { row, system: 'fairlead', relation, than: { factor, system } };
}

function beyondDirect(row: RowName, beyond: number): Must {
  return { row, system: 'fairlead', relation: '≤', than: { beyond, system: 'direct' } };
}

function relayed(row: RowName, relation: Must['relation'], factor: number): Must {
  return { row, system: 'fairlead-relayed', relation, than: { factor, system: 'fairlead' } };
}

function besideStall(idle: RowName, ping: RowName, fresh: RowName): Must[] {
  return BOTH.flatMap((system): Must[] => [
    { row: ping, system, relation: '≤', than: { factor: 1.3, system, row: idle } },
    { row: fresh, system, relation: '≥', than: { all: true } },
  ]);
}

function allOf(row: RowName): Must[] {
  return BOTH.map((system) => ({ row, system, relation: '≥', than: { all: true } }));
}

function limit(row: RowName, relation: Must['relation'], bound: number): Must {
  return { row, system: 'fairlead', relation, than: { limit: bound } };
}
