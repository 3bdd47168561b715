import { expect, it } from 'vitest';
import { QUICK } from '../scale.js';
import { Results } from './results.js';
import { formatFigure, formatMarkdown, formatText } from './table.js';

function sample(): Results {
  const results = new Results();
  const figures = {
    direct: [1_000, 1_200, 1_100],
    'relay-go-tls': [400],
    konnectivity: [100, 100],
    fairlead: [250, 200],
  };
  for (const [system, runs] of Object.entries(figures)) {
    for (const value of runs) results.add('download_1', system as keyof typeof figures, value);
  }
  results.fail('download_1', 'fairlead-relayed', { count: 3, of: 16, reason: 'connection refused' });
  results.fail('download_1', 'fairlead-relayed', { count: 1, of: 16, reason: 'another reason' });
  return results;
}

it('shows medians with their spread, ratios, musts, and what failed with its count and first reason', () => {
  expect(formatText(sample().rows(QUICK))).toBe(
    `
Medians of the runs (±: the run furthest from it)

row         unit    direct  relay-go-tls  konnectivity  fairlead  fairlead-relayed
download_1  MB/s  1100 ±9%           400       100 ±0%  225 ±11%    4 of 32 failed

Ratios

row                         fairlead ÷ konnectivity  fairlead ÷ relay-go-tls  fairlead-relayed ÷ fairlead
download_1  more is better                   2.25 ×                   0.56 ×                            -

What must hold

row         system                                 must  measured
download_1  fairlead          must ≥ 2.3 × konnectivity      2.25  NOT MET
download_1  fairlead-relayed      must ≥ 0.5 × fairlead         -  NOT MET

download_1, fairlead-relayed: 4 of 32 failed: connection refused
`.trim(),
  );
});

it('writes the same as Markdown', () => {
  const text = formatMarkdown(sample().rows(QUICK));
  expect(text).toContain(
    '| row | unit | direct | relay-go-tls | konnectivity | fairlead | fairlead-relayed |\n| --- |',
  );
  expect(text).toContain('| download_1 | fairlead | must ≥ 2.3 × konnectivity | 2.25 | NOT MET |');
  expect(text).toContain('- download_1, fairlead-relayed: 4 of 32 failed: connection refused');
});

it('shows a median beside failures of other runs, and what was not measured', () => {
  const results = new Results();
  results.add('ping_p50', 'fairlead', 312.4);
  results.fail('ping_p50', 'fairlead', { count: 1, of: 300, reason: 'timeout' });
  results.unmeasured('ping_p50', 'relay-go', 'it did not start');
  const text = formatText(results.rows(QUICK));
  expect(text).toMatch(/ping_p50 .* not measured .* 312 \(1 of 300 failed\)/);
  expect(text).toContain('ping_p50, relay-go: not measured: it did not start');
});

it('prints as many digits as count', () => {
  const figures = [1_234.5, 99.94, 9.876, 0.5, 20].map((value) => formatFigure(value));
  expect(figures).toEqual(['1235', '99.9', '9.88', '0.50', '20']);
});

it('is, as JSON, one entry per row and system with runs in order and the median', () => {
  expect(JSON.parse(JSON.stringify(sample().rows(QUICK)))).toEqual([
    { row: 'download_1', system: 'direct', unit: 'MB/s', runs: [1_000, 1_200, 1_100], median: 1_100 },
    { row: 'download_1', system: 'relay-go-tls', unit: 'MB/s', runs: [400], median: 400 },
    { row: 'download_1', system: 'konnectivity', unit: 'MB/s', runs: [100, 100], median: 100 },
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
