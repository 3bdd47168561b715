/** What is measured, in the order it is shown. */
export const ROWS = {
  download_1: { unit: 'MB/s', better: 'more' },
  download_16: { unit: 'MB/s', better: 'more' },
  cpu_s_per_gb: { unit: 's/GB', better: 'less' },
  ping_p50: { unit: 'µs', better: 'less' },
  ping_p99: { unit: 'µs', better: 'less' },
  conn_rate_1: { unit: '1/s', better: 'more' },
  conn_rate_32: { unit: '1/s', better: 'more' },
} as const satisfies Record<string, { readonly unit: string; readonly better: 'more' | 'less' }>;

export type RowName = keyof typeof ROWS;

export function isRowName(name: string): name is RowName {
  return Object.hasOwn(ROWS, name);
}

/** What is measured against each other, in the order of the columns. */
export const SYSTEMS = ['direct', 'relay-node', 'relay-go', 'fairlead', 'fairlead-relayed'] as const;
export type SystemName = (typeof SYSTEMS)[number];
