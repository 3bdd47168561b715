import { expect, it } from 'vitest';
import { fitPage, pageOf } from './fit-page.js';

it('takes what fits, and never nothing', () => {
  expect(fitPage([])).toEqual([]);
  expect(fitPage(['aa', 'bb', 'cc'], 10)).toEqual(['aa', 'bb']);
  expect(fitPage(['a'.repeat(100), 'b'], 10)).toEqual(['a'.repeat(100)]);
  expect(fitPage(['é', 'é', 'é'], 11)).toEqual(['é', 'é']);
});

it('says where to go on where it was full, or not all fits', () => {
  const page = (items: readonly string[], limit: number) => pageOf(items, limit, (item) => item.slice(0, 1));
  expect(page([], 2)).toEqual({ items: [] });
  expect(page(['a', 'b'], 3)).toEqual({ items: ['a', 'b'] });
  expect(page(['a', 'b'], 2)).toEqual({ items: ['a', 'b'], next: 'b' });
  const large = ['a', 'b'].map((letter) => letter.repeat(150_000));
  expect(page(large, 3)).toEqual({ items: [large[0]], next: 'a' });
});
