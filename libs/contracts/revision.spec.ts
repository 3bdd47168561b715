import { expect, it } from 'vitest';
import { expectRevision, revisionOf } from './revision.js';

const said = { name: 'shop', labels: { stage: 'prod', zone: 'eu' }, waves: [1, '10%'], suspend: false };

it('is the same for the same, however its fields are ordered', () => {
  const { name, labels: _labels, ...rest } = said;
  const kept = { ...rest, labels: { zone: 'eu', stage: 'prod' }, branch: undefined, name };
  expect(revisionOf(kept)).toBe(revisionOf(said));
  expect(revisionOf(said)).toMatch(/^[0-9a-f]{32}$/);
});

it.each([{ suspend: true }, { waves: ['10%', 1] }, { labels: { stage: 'prod' } }])(
  'is another one for anything else: %j',
  (change) => {
    expect(revisionOf({ ...said, ...change })).not.toBe(revisionOf(said));
  },
);

it('is compared only if somebody expects one', () => {
  const [held, other] = [revisionOf(said), revisionOf({ ...said, suspend: true })];
  for (const each of [held, null]) expectRevision('the cluster shop', each, undefined);
  expectRevision('the cluster shop', held, held);
  expectRevision('the cluster shop', null, null);
  expect(() => expectRevision('the cluster shop', held, other)).toThrow('somebody changed the cluster shop meanwhile');
  expect(() => expectRevision('the cluster shop', held, null)).toThrow('somebody made the cluster');
  expect(() => expectRevision('the cluster shop', null, other)).toThrow('somebody removed the cluster');
});
