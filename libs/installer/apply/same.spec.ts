import { expect, it } from 'vitest';
import { saysMore } from './same.js';

const object = (more: Record<string, unknown>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'a' },
  ...more,
});
const wanted = object({ type: 'Opaque', data: { url: 'x' }, list: [{ a: 1 }] });

it.each([
  ['a field', { data: { url: 'x', insecure: 'y' } }, true],
  ['another value', { data: { url: 'z' } }, false],
  ['fewer', { data: {} }, false],
  ['a field of the object itself', { immutable: true }, true],
  ['an item of a list', { list: [{ a: 1 }, { a: 2 }] }, true],
  ['a field of an item', { list: [{ a: 1, b: 2 }] }, true],
  ['an object in place of a value', { type: { of: 'x' } }, true],
  [
    'what is told of it, or done with it',
    { status: { a: 1 }, operation: { sync: {} }, metadata: { name: 'b', labels: {} } },
    false,
  ],
])('does an object say more than another one? %s', (_what, more, expected) => {
  expect(saysMore({ ...wanted, ...more }, wanted)).toBe(expected);
});
