import type { Scale } from './scale.js';

/** What is measured against each other, in the order of the columns. */
export const SYSTEMS = [
  'direct',
  'relay-node',
  'relay-go',
  'relay-go-tls',
  'konnectivity',
  'kubectl-proxy',
  'reverse-proxy-go',
  'fairlead',
  'fairlead-relayed',
  'audit-off',
  'audit-best-effort',
  'audit-required',
] as const;
export type SystemName = (typeof SYSTEMS)[number];

export function isSystemName(name: string): name is SystemName {
  return (SYSTEMS as readonly string[]).includes(name);
}

export interface Row {
  readonly unit: string | ((scale: Scale) => string);
  readonly better: 'more' | 'less';
  /** True where a system that answers nothing is what the row wants to know. */
  readonly mayFreeze?: true;
  /** Systems are measured at the same time: a ratio is of figures of the same run, and not of medians. */
  readonly abreast?: true;
}

const SPEED = { unit: 'MB/s', better: 'more' } as const;
const PING = { unit: 'µs', better: 'less' } as const;
const PING_BESIDE_STALL = { ...PING, mayFreeze: true } as const;
const RATE = { unit: '1/s', better: 'more' } as const;
const NEW_OF_20 = { unit: 'of 20', better: 'more' } as const;
const TIME = { unit: 'ms', better: 'less' } as const;
const CORRECT = { unit: ({ tries }: Scale) => `of ${tries}`, better: 'more' } as const;

/** Of the tunnel and the CONNECT door, in the order it is shown. What each must reach is in musts.ts. */
const TUNNEL_ROWS = {
  download_1: SPEED,
  download_16: SPEED,
  upload_1: SPEED,
  cpu_s_per_gb: { unit: 's/GB', better: 'less' },
  cpu_s_per_1000_conns: { unit: 's', better: 'less' },
  ping_p50: PING,
  ping_p99: PING,
  ping_p99_bulk4: PING,
  ping_p99_before_stall1: PING,
  ping_p99_stall1: PING_BESIDE_STALL,
  new_beside_stall1: NEW_OF_20,
  ping_p99_before_stall20: PING,
  ping_p99_stall20: PING_BESIDE_STALL,
  new_beside_stall20: NEW_OF_20,
  ping_p99_before_stall_up1: PING,
  ping_p99_stall_up1: PING_BESIDE_STALL,
  new_beside_stall_up1: NEW_OF_20,
  mem_stall20_mb: { unit: 'MB', better: 'less' },
  conn_rate_1: RATE,
  conn_rate_32: RATE,
  ttfb_own: TIME,
  ttfb_relayed: TIME,
  mem_idle_tunnel_kb: { unit: 'kB', better: 'less' },
  mem_idle_agent_kb: { unit: 'kB', better: 'less' },
  write_then_close: CORRECT,
  half_close: CORRECT,
  server_first_banner: CORRECT,
  abort_16: { unit: ({ aborts }: Scale) => `of ${aborts}`, better: 'more' },
  ping_p99_bulk4_wan: TIME,
  bulk4_wan: SPEED,
  wan_50ms_first: SPEED,
  wan_50ms_again: SPEED,
  recover_gateway_ms: TIME,
  recover_agent_ms: TIME,
  recover_failed_tries: { unit: 'tries', better: 'less' },
} as const satisfies Record<string, Row>;

const WORK = { unit: 'ms/request', better: 'less' } as const;

/** Of the Kubernetes API door. */
const API_ROWS = {
  api_get_p50: PING,
  api_get_p99: PING,
  api_rate_16: RATE,
  api_cpu_door: WORK,
  api_cpu_relay: WORK,
  api_cpu_agent: WORK,
  api_connect_p50: PING,
  api_list_5mb: TIME,
  api_exec_p50: PING,
  api_watch_gateway_kb: { unit: 'kB', better: 'less' },
  api_watch_agent_kb: { unit: 'kB', better: 'less' },
  api_idle_agent_mb: { unit: 'MiB', better: 'less' },
} as const satisfies Record<string, Row>;

const CORE_TIME = { unit: 'core-µs', better: 'less' } as const;
const SYNCS = { unit: 'per write', better: 'less' } as const;

/** Of the audit: gateways that keep none, that keep it as best they can, and as required. */
const AUDIT_ROWS = {
  audit_read_p50: { ...PING, abreast: true },
  audit_read_p99: { ...PING, abreast: true },
  audit_write_p50: { ...PING, abreast: true },
  audit_write_p99: { ...PING, abreast: true },
  audit_cpu_read: { ...CORE_TIME, abreast: true },
  audit_cpu_write: { ...CORE_TIME, abreast: true },
  audit_syncs_1: SYNCS,
  audit_syncs_16: SYNCS,
  audit_syncs_64: SYNCS,
  audit_service_cpu: CORE_TIME,
  audit_postgres_cpu: CORE_TIME,
  audit_nats_cpu: CORE_TIME,
} as const satisfies Record<string, Row>;

/** What is measured. */
export const ROWS = { ...TUNNEL_ROWS, ...API_ROWS, ...AUDIT_ROWS };

export type RowName = keyof typeof ROWS;
export const ROW_NAMES = Object.keys(ROWS) as RowName[];

export function isRowName(name: string): name is RowName {
  return Object.hasOwn(ROWS, name);
}

export function unitOf(row: RowName, scale: Scale): string {
  const { unit } = ROWS[row] as Row;
  return typeof unit === 'string' ? unit : unit(scale);
}

/** What is measured together: its rows, and the systems that they compare. */
export const AREAS = {
  tunnel: {
    rows: Object.keys(TUNNEL_ROWS) as RowName[],
    systems: ['direct', 'relay-node', 'relay-go', 'relay-go-tls', 'konnectivity', 'fairlead', 'fairlead-relayed'],
  },
  'api-door': {
    rows: Object.keys(API_ROWS) as RowName[],
    systems: ['direct', 'kubectl-proxy', 'reverse-proxy-go', 'fairlead', 'fairlead-relayed'],
  },
  audit: {
    rows: Object.keys(AUDIT_ROWS) as RowName[],
    systems: ['audit-off', 'audit-best-effort', 'audit-required'],
  },
} as const satisfies Record<string, { readonly rows: readonly RowName[]; readonly systems: readonly SystemName[] }>;

export type AreaName = keyof typeof AREAS;
export const AREA_NAMES = Object.keys(AREAS) as AreaName[];

export function isAreaName(name: string): name is AreaName {
  return Object.hasOwn(AREAS, name);
}
