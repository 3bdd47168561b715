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

it('divides what was measured at the same time, run by run', () => {
  const results = new Results();
  // A machine that is three times as slow in one run, and then in the other.
  for (const [off, kept] of [
    [100, 102],
    [300, 306],
    [320, 326.4],
  ] as const) {
    results.add('audit_cpu_read', 'audit-off', off);
    results.add('audit_cpu_read', 'audit-required', kept);
  }
  results.add('audit_cpu_read', 'audit-best-effort', 400);
  const [bestEffort, required] = judge(results.rows(QUICK));
  expect(required).toMatchObject({ measured: expect.closeTo(1.02, 5) as number, holds: true });
  // Of fewer runs nobody knows which they were.
  expect(bestEffort).toMatchObject({ measured: expect.closeTo(4 / 3, 5) as number, holds: false });
});
