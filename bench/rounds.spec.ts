import { describe, expect, it } from 'vitest';
import { MEASUREMENTS, measurementsFor } from './measurements/catalog.js';
import { orderOf } from './rounds.js';
import { ROW_NAMES, SYSTEMS } from './rows.js';

it('measures the systems forwards and backwards in turns', () => {
  expect(orderOf(SYSTEMS, 0)).toEqual(SYSTEMS);
  expect(orderOf(SYSTEMS, 1)).toEqual(SYSTEMS.toReversed());
  expect(orderOf(SYSTEMS, 2)).toEqual(SYSTEMS);
});

describe('measurementsFor', () => {
  it('yields every row exactly once', () => {
    expect(MEASUREMENTS.flatMap(({ rows }) => rows).toSorted()).toEqual(ROW_NAMES.toSorted());
  });

  it('runs one job for two rows that it yields', () => {
    expect(measurementsFor(['ping_p99', 'ping_p50'])).toHaveLength(1);
  });
});
