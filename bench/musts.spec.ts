import { expect, it } from 'vitest';
import { judge } from './musts.js';
import { Results } from './report/results.js';
import { QUICK } from './scale.js';

function verdicts(figures: Readonly<Record<string, number>>) {
  const results = new Results();
  for (const [system, value] of Object.entries(figures)) results.add('ping_p99', system as 'direct', value);
  return judge(results.rows(QUICK)).map(({ rule, measured, holds }) => ({ rule, measured, holds }));
}

it('compares with the figure of the same run', () => {
  expect(verdicts({ konnectivity: 100, fairlead: 90, 'fairlead-relayed': 180 })).toEqual([
    { rule: '≤ 1 × konnectivity', measured: 0.9, holds: true },
    { rule: '≤ 1.8 × fairlead', measured: 2, holds: false },
  ]);
});

it('knows nothing where one of both is missing', () => {
  expect(verdicts({ fairlead: 90 })).toEqual([
    { rule: '≤ 1 × konnectivity', measured: null, holds: null },
    { rule: '≤ 1.8 × fairlead', measured: null, holds: null },
  ]);
});

it('counts what only failed as not met', () => {
  const results = new Results();
  results.fail('half_close', 'fairlead', { count: 50, of: 50, reason: 'lost' });
  results.add('half_close', 'fairlead-relayed', QUICK.tries);
  expect(judge(results.rows(QUICK)).map(({ rule, holds }) => ({ rule, holds }))).toEqual([
    { rule: 'be all', holds: false },
    { rule: 'be all', holds: true },
  ]);
});
