import { expect, it } from 'vitest';
import { atLeast } from './version.js';

it('compares versions number by number', () => {
  expect(atLeast('1.34.4', '1.34.0')).toBe(true);
  expect(atLeast('1.32.4', '1.34.0')).toBe(false);
  expect(atLeast('2.9.10', '2.11.0')).toBe(false);
  expect(atLeast('1.26', '1.26.0')).toBe(true);
  expect(atLeast('2.0.0', '1.99.99')).toBe(true);
});
