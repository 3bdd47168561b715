import { expect, it } from 'vitest';
import { originOf } from './bundle-imports.js';

it.each([
  ['https://example.com/v2/install.yaml', 'https://example.com/v2/install.yaml'],
  ['https://example.com:8443/install.yaml?token=hush#hush', 'https://example.com:8443/install.yaml'],
  ['https://user:hush@example.com/install.yaml?X-Amz-Signature=hush', 'https://example.com/install.yaml'],
])('tells of %s only where it is', (url, told) => {
  expect(originOf(url)).toBe(told);
});
