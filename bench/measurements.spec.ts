import { describe, expect, it } from 'vitest';
import { FULL, QUICK, measurementsFor } from './measurements.js';
import { orderOf } from './rounds.js';
import { ROWS, SYSTEMS, type RowName } from './rows.js';

const RESULT = { seconds: 2, bytes: 0, count: 0, p50Us: 0, p99Us: 0, failed: 0, of: 1, reason: '' };

describe('measurementsFor', () => {
  it('yields every row exactly once', () => {
    const all = Object.keys(ROWS) as RowName[];
    expect(
      measurementsFor(all, FULL)
        .flatMap(({ rows }) => rows)
        .toSorted(),
    ).toEqual(all.toSorted());
  });

  it('runs one job for two rows that it yields', () => {
    expect(measurementsFor(['ping_p99', 'ping_p50'], QUICK)).toHaveLength(1);
  });

  it('reads bytes per second, and CPU seconds where they are known', () => {
    const [download] = measurementsFor(['download_1'], QUICK);
    const result = { ...RESULT, bytes: 500_000_000 };
    expect(download?.read(result, 1)).toEqual({ download_1: 250, cpu_s_per_gb: 2 });
    expect(download?.read(result, null)).toEqual({ download_1: 250 });
  });

  it('reads connections per second', () => {
    const [rate] = measurementsFor(['conn_rate_32'], QUICK);
    expect(rate?.read({ ...RESULT, count: 300 }, null)).toEqual({ conn_rate_32: 150 });
  });
});

it('measures the systems forwards and backwards in turns', () => {
  expect(orderOf(SYSTEMS, 0)).toEqual(SYSTEMS);
  expect(orderOf(SYSTEMS, 1)).toEqual(SYSTEMS.toReversed());
  expect(orderOf(SYSTEMS, 2)).toEqual(SYSTEMS);
});
