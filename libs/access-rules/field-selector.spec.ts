import { expect, it } from 'vitest';
import { nameSelected } from './field-selector.js';

it.each([
  ['metadata.name=web', 'web'],
  ['metadata.name==web', 'web'],
  ['metadata.name=', ''],
  ['a=b,,metadata.name=web', 'web'],
  // Sorted: the first of two that cannot both be.
  ['metadata.name=b,metadata.name=a', 'a'],
  ['metadata.name=a,metadata.name==z', 'z'],
  ['metadata.name=a\\,b', 'a,b'],
  ['metadata.name=a\\\\', 'a\\'],
  ['x=\\,metadata.name\\=y', undefined],
  ['metadata.name!=web', undefined],
  ['', undefined],
  ['metadata.name', undefined],
  ['metadata.name=web,nonsense', undefined],
  ['metadata.name=a=b', undefined],
  ['metadata.name=a\\', undefined],
  ['metadata.name=a\\b', undefined],
  ['metadata.name=a/b', undefined],
  ['metadata.name=..', undefined],
  ['metadata.name=%41', undefined],
  [' metadata.name=web', undefined],
])('%s', (selector, name) => {
  expect(nameSelected(selector)).toBe(name);
});
