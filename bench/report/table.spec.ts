import { expect, it } from 'vitest';
import { Results } from './results.js';
import { formatFigure, formatTables } from './table.js';

function sample(): Results {
  const results = new Results();
  const figures = { direct: [1_000, 1_200, 1_100], 'relay-node': [400], 'relay-go': [500, 500], fairlead: [250, 200] };
  for (const [system, runs] of Object.entries(figures)) {
    for (const value of runs) results.add('download_1', system as keyof typeof figures, value);
  }
  results.fail('download_1', 'fairlead-relayed', { count: 3, of: 16, reason: 'connection refused' });
  results.fail('download_1', 'fairlead-relayed', { count: 1, of: 16, reason: 'another reason' });
  return results;
}

it('shows medians with their spread, ratios, and what failed with its count and first reason', () => {
  expect(formatTables(sample().rows())).toBe(
    `
Medians of the runs (±: the run furthest from it)

row         unit    direct  relay-node  relay-go  fairlead  fairlead-relayed
download_1  MB/s  1100 ±9%         400   500 ±0%  225 ±11%    4 of 32 failed

Ratios

row                         fairlead ÷ direct  fairlead ÷ relay-node  fairlead ÷ relay-go  fairlead-relayed ÷ fairlead
download_1  more is better             0.20 ×                 0.56 ×               0.45 ×                            -

download_1, fairlead-relayed: 4 of 32 failed: connection refused
`.trim(),
  );
});

it('shows a median beside failures of other runs', () => {
  const results = new Results();
  results.add('ping_p50', 'fairlead', 312.4);
  results.fail('ping_p50', 'fairlead', { count: 1, of: 300, reason: 'timeout' });
  expect(formatTables(results.rows())).toMatch(/ping_p50 .* 312 \(1 of 300 failed\)/);
});

it('prints as many digits as count', () => {
  expect([1_234.5, 99.94, 9.876, 0.5].map((value) => formatFigure(value))).toEqual(['1235', '99.9', '9.88', '0.50']);
});

it('is, as JSON, one entry per row and system with runs in order and the median', () => {
  expect(JSON.parse(JSON.stringify(sample().rows()))).toEqual([
    { row: 'download_1', system: 'direct', unit: 'MB/s', runs: [1_000, 1_200, 1_100], median: 1_100 },
    { row: 'download_1', system: 'relay-node', unit: 'MB/s', runs: [400], median: 400 },
    { row: 'download_1', system: 'relay-go', unit: 'MB/s', runs: [500, 500], median: 500 },
    { row: 'download_1', system: 'fairlead', unit: 'MB/s', runs: [250, 200], median: 225 },
    {
      row: 'download_1',
      system: 'fairlead-relayed',
      unit: 'MB/s',
      runs: [],
      median: null,
      failed: { count: 4, of: 32, reason: 'connection refused' },
    },
  ]);
});
