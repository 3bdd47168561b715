import { expect, it } from 'vitest';
import { ClusterLabels, OTHER } from './cluster-labels.js';

it('there are never more labels than places, and a place is given back', () => {
  const labels = new ClusterLabels(2);
  expect(['a', 'b', 'c', 'a'].map((id) => labels.labelOf(id))).toEqual(['a', 'b', OTHER, 'a']);
  expect([labels.forget('c'), labels.forget('a')]).toEqual([false, true]);
  expect(['c', 'a', 'b'].map((id) => labels.labelOf(id))).toEqual(['c', OTHER, 'b']);
  expect(new ClusterLabels(0).labelOf('a')).toBe(OTHER);
});
