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
