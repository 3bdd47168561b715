import type { Job, LoadResult } from './load/load-generator.js';
import type { RowName } from './rows.js';

/** One job and the rows that it yields. */
export interface Measurement {
  readonly job: Job;
  readonly rows: readonly RowName[];
  /** The rows' figures; `cpuSeconds` is what the processes in between used, null where that is unknown. */
  read(result: LoadResult, cpuSeconds: number | null): Partial<Record<RowName, number>>;
}

/** How much of everything. The counts are fixed, so that all systems do the same work, unless one is very slow. */
export interface Scale {
  readonly downloadBytes: number;
  readonly pings: number;
  /** New connections, one after the other and 32 at the same time. */
  readonly connections: { readonly one: number; readonly many: number };
  /** Pings and connections stop after this, whatever their count. */
  readonly enoughMs: number;
  /** A job that takes longer fails. */
  readonly jobTimeoutMs: number;
  /** All rounds together; no round begins that would not fit. */
  readonly totalMs: number;
}

const MB = 1_000_000;
const GB = 1_000_000_000;

export const QUICK: Scale = {
  downloadBytes: 32 * MB,
  pings: 300,
  connections: { one: 40, many: 160 },
  enoughMs: 700,
  jobTimeoutMs: 10_000,
  totalMs: 38_000,
};

export const FULL: Scale = {
  downloadBytes: 256 * MB,
  pings: 3_000,
  connections: { one: 200, many: 640 },
  enoughMs: 3_000,
  jobTimeoutMs: 20_000,
  totalMs: 320_000,
};

/** Brings code and connections to the temperature of daily work before anything counts. */
export const WARM_UP: readonly Job[] = [
  { kind: 'ping', connections: 1, count: 100 },
  { kind: 'download', connections: 4, bytes: 16 * MB },
  { kind: 'connect', connections: 8, count: 64 },
];

/** What has to be run for these rows, in the order of the table. */
export function measurementsFor(wanted: readonly RowName[], scale: Scale): Measurement[] {
  return catalog(scale).filter(({ rows }) => rows.some((row) => wanted.includes(row)));
}

function catalog({ downloadBytes, pings, connections }: Scale): Measurement[] {
  const connect = (row: RowName, atOnce: number, count: number): Measurement => ({
    job: { kind: 'connect', connections: atOnce, count },
    rows: [row],
    read: (result) => ({ [row]: result.count / result.seconds }),
  });
  return [
    {
      job: { kind: 'download', connections: 1, bytes: downloadBytes },
      rows: ['download_1', 'cpu_s_per_gb'],
      read: ({ bytes, seconds }, cpuSeconds) => ({
        download_1: bytes / MB / seconds,
        ...(cpuSeconds === null ? {} : { cpu_s_per_gb: cpuSeconds / (bytes / GB) }),
      }),
    },
    {
      job: { kind: 'download', connections: 16, bytes: downloadBytes },
      rows: ['download_16'],
      read: ({ bytes, seconds }) => ({ download_16: bytes / MB / seconds }),
    },
    {
      job: { kind: 'ping', connections: 1, count: pings },
      rows: ['ping_p50', 'ping_p99'],
      read: ({ p50Us, p99Us }) => ({ ping_p50: p50Us, ping_p99: p99Us }),
    },
    connect('conn_rate_1', 1, connections.one),
    connect('conn_rate_32', 32, connections.many),
  ];
}
