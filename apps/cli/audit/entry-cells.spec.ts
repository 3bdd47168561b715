import { expect, it } from 'vitest';
import { cellsOf } from './entry-cells.js';

const entry = {
  number: 7,
  at: '2026-03-01T08:00:00.000Z',
  recordedAt: '2026-03-01T08:00:01.000Z',
  kind: 'passage',
  source: 'gateway-a',
  user: 'dana',
  cluster: 'demo',
  action: 'exec pods/cart-0/exec -n shop',
  decision: 'allowed',
} as const;

it.each<[string, string, Record<string, unknown> | null, string, string]>([
  [
    'a shell and its command',
    'allowed',
    { status: 101, stream: { command: ['sh', '-c', 'id'] } },
    ' -- sh -c id',
    'allowed 101',
  ],
  ['what the cluster refused', 'allowed', { status: 403, stream: null }, '', 'refused beyond 403'],
  ['what a gateway refused', 'refused', { status: 403 }, '', 'refused 403'],
  ['a beginning', 'allowed', { status: 0 }, '', 'allowed'],
  ['what has another body', '', { status: 'x', stream: 3 }, '', ''],
  ['what is kept no more', 'allowed', null, '', 'allowed'],
])('shows %s', (_what, decision, body, command, decided) => {
  const cells = cellsOf({ ...entry, decision, body });
  expect([cells[4], cells[5]]).toEqual([entry.action + command, decided]);
});

it('cuts a long command', () => {
  const [, , , , what = ''] = cellsOf({ ...entry, body: { stream: { command: ['x'.repeat(500)] } } });
  expect(what.length).toBeLessThan(120);
  expect(what.endsWith('…')).toBe(true);
});
