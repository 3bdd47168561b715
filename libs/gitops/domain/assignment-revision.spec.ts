import { Assignment } from '@fairlead/contracts';
import { expect, it } from 'vitest';
import { expectRevision, revisionOf } from './assignment-revision.js';

const spec = Assignment.parse({
  name: 'shop',
  selector: { labels: { stage: 'prod', zone: 'eu' } },
  tool: 'flux',
  bundleVersion: 'v1',
  repository: 'catalog',
});

it('is the same for the same, however its fields are ordered', () => {
  const { name, selector: _selector, ...rest } = spec;
  const kept = { ...rest, selector: { labels: { zone: 'eu', stage: 'prod' } }, branch: undefined, name };
  expect(revisionOf(kept)).toBe(revisionOf(spec));
  expect(revisionOf(spec)).toMatch(/^[0-9a-f]{32}$/);
});

it.each<Partial<Assignment>>([
  { suspend: true },
  { rollout: { ...spec.rollout, waves: [...spec.rollout.waves].toReversed() } },
  { selector: { labels: { stage: 'prod' } } },
])('is another one for anything else: %j', (change) => {
  expect(revisionOf({ ...spec, ...change })).not.toBe(revisionOf(spec));
});

it('is compared only if somebody expects one', () => {
  const other = revisionOf({ ...spec, suspend: true });
  for (const held of [spec, undefined]) expectRevision('shop', held, undefined);
  expectRevision('shop', spec, revisionOf(spec));
  expectRevision('shop', undefined, null);
  expect(() => expectRevision('shop', spec, other)).toThrow('somebody changed the assignment shop meanwhile');
  expect(() => expectRevision('shop', spec, null)).toThrow('somebody made the assignment');
  expect(() => expectRevision('shop', undefined, other)).toThrow('somebody removed the assignment');
});
