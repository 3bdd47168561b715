import { Grant } from '@fairlead/contracts';
import { expect, it } from 'vitest';
import { clustersMeant } from './clusters-meant.js';

const now = new Date('2026-05-01T12:00:00.000Z');
const clusters = [
  { name: 'b', labels: { stage: 'test' } },
  { name: 'a', labels: { stage: 'test' } },
  { name: 'c', labels: {} },
];

function grant(change: Partial<Grant>): Grant {
  return Grant.parse({
    id: crypto.randomUUID(),
    tenantId: 'default',
    subject: { kind: 'user', name: 'ada' },
    clusters: { all: true },
    role: 'view',
    expiresAt: null,
    reason: 'on call',
    createdBy: 'admin',
    createdAt: now.toISOString(),
    requestId: null,
    ...change,
  });
}

it.each<[string, Partial<Grant>[], string[]]>([
  ['nothing', [], []],
  ['all', [{}], ['a', 'b', 'c']],
  [
    'a selector and a name',
    [{ clusters: { selector: 'stage=test' } }, { clusters: { names: ['c'] } }],
    ['a', 'b', 'c'],
  ],
  ['a name that is none', [{ clusters: { names: ['d'] } }], []],
  ['a denial beside it', [{ clusters: { names: ['a'] } }, { effect: 'deny', role: null }], ['a']],
  ['a denial alone', [{ effect: 'deny', role: null }], []],
  ['an administrator of the API', [{ role: 'administrator' }], []],
  ['one that has ended', [{ expiresAt: now.toISOString() }], []],
])('by %s', (_, grants, names) => {
  expect(clustersMeant(grants.map(grant), clusters, now)).toEqual(names);
});
