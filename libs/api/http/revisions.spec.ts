import { expect, it } from 'vitest';
import { expectedRevision } from './revisions.js';

it.each([
  [{}, undefined],
  [{ 'if-match': '"1f2e"' }, '1f2e'],
  [{ 'if-none-match': '*' }, null],
])('%j expects %s', (headers, expected) => {
  expect(expectedRevision(headers)).toBe(expected);
});

it.each([
  { 'if-match': '1f2e' },
  { 'if-match': 'W/"1f2e"' },
  { 'if-match': '"1f2e", "3d4c"' },
  { 'if-match': '*' },
  { 'if-match': '' },
  { 'if-none-match': '"1f2e"' },
  { 'if-match': '"1f2e"', 'if-none-match': '*' },
])('%j is refused', (headers) => {
  expect(() => expectedRevision(headers)).toThrow('one ETag');
});
