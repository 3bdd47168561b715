import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClusterLabels, OTHER } from './cluster-labels.js';

const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const namesOf = (labels: ClusterLabels, ids: readonly string[]): string[] => ids.map((id) => labels.labelOf(id));

describe('labels of clusters', () => {
  it('are never more than the limit, and a deleted one counts no more', () => {
    const labels = new ClusterLabels(2);
    expect(namesOf(labels, ['a', 'b', 'c', 'a'])).toEqual(['a', 'b', OTHER, 'a']);
    expect([labels.forget('c'), labels.forget('a')]).toEqual([false, true]);
    expect(namesOf(labels, ['c', 'a', 'b'])).toEqual(['c', OTHER, 'b']);
    expect(new ClusterLabels(0).labelOf('a')).toBe(OTHER);
  });

  it('go to the busiest when they are ranked, and stay where nothing speaks against it', () => {
    const labels = new ClusterLabels(2);
    namesOf(labels, ['a', 'b']);
    for (const [id, amount] of [
      ['a', 5],
      ['b', 1],
      ['c', 3],
      ['d', 1],
    ] as const) {
      labels.note(id, amount);
    }
    expect(labels.rank()).toEqual(['b']);
    expect(namesOf(labels, ['a', 'b', 'c', 'd'])).toEqual(['a', OTHER, 'c', OTHER]);
    expect(labels.rank()).toEqual([]);
  });

  it('leave out nobody who did more than somebody named', () => {
    const amounts = fc.dictionary(fc.constantFrom(...IDS), fc.nat(5));
    fc.assert(
      fc.property(fc.nat(5), amounts, (limit, did) => {
        const labels = new ClusterLabels(limit);
        namesOf(labels, IDS);
        for (const [id, amount] of Object.entries(did)) labels.note(id, amount);
        labels.rank();
        const named = IDS.filter((id) => labels.labelOf(id) === id);
        expect(named).toHaveLength(limit);
        const least = Math.min(...named.map((id) => did[id] ?? 0));
        const most = Math.max(-1, ...IDS.filter((id) => !named.includes(id)).map((id) => did[id] ?? 0));
        expect(least).toBeGreaterThanOrEqual(limit === 0 ? 0 : most);
      }),
    );
  });
});
