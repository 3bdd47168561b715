import type { Scale } from './scale.js';

/** What is measured against each other, in the order of the columns. */
export const SYSTEMS = [
  'direct',
  'relay-node',
  'relay-go',
  'relay-go-tls',
  'konnectivity',
  'fairlead',
  'fairlead-relayed',
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
}

const MORE = { unit: 'MB/s', better: 'more' } as const;
const PING = { unit: 'µs', better: 'less' } as const;
const RATE = { unit: '1/s', better: 'more' } as const;

/** What is measured, in the order it is shown. What each must reach is in musts.ts. */
export const ROWS = {
  download_1: MORE,
  download_16: MORE,
  upload_1: MORE,
  cpu_s_per_gb: { unit: 's/GB', better: 'less' },
  cpu_s_per_1000_conns: { unit: 's', better: 'less' },
  ping_p50: PING,
  ping_p99: PING,
  conn_rate_1: RATE,
  conn_rate_32: RATE,
} as const satisfies Record<string, Row>;

export type RowName = keyof typeof ROWS;
export const ROW_NAMES = Object.keys(ROWS) as RowName[];

export function isRowName(name: string): name is RowName {
  return Object.hasOwn(ROWS, name);
}

export function unitOf(row: RowName, scale: Scale): string {
  const { unit } = ROWS[row] as Row;
  return typeof unit === 'string' ? unit : unit(scale);
}
