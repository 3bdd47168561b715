import { expect, it } from 'vitest';
import { fitPage } from './fit-page.js';

it('takes what fits, and never nothing', () => {
  expect(fitPage([])).toEqual([]);
  expect(fitPage(['aa', 'bb', 'cc'], 10)).toEqual(['aa', 'bb']);
  expect(fitPage(['a'.repeat(100), 'b'], 10)).toEqual(['a'.repeat(100)]);
  expect(fitPage(['é', 'é', 'é'], 11)).toEqual(['é', 'é']);
});
