import { expect, it } from 'vitest';
import { FIRST_SPAN, spansDown, spansUp } from './spans.js';

it.each([0, 1, FIRST_SPAN, FIRST_SPAN + 1, 1_000_000])('of %i numbers each is in one span, whichever way', (size) => {
  const down = [...spansDown(size)].toReversed();
  const up = [...spansUp(1, size)];
  for (const spans of [down, up]) {
    expect(spans.map(({ from }) => from)).toEqual([
      ...(size > 0 ? [1] : []),
      ...spans.slice(0, -1).map(({ to }) => to + 1),
    ]);
    expect(spans.at(-1)?.to ?? 0).toBe(size);
  }
  expect(up[0] ? up[0].to : 0).toBe(Math.min(FIRST_SPAN, size));
});

it('they grow, so that a long log has few', () => {
  expect([...spansUp(1, 1_000_000_000)].length).toBeLessThan(12);
});
