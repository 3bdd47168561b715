import { generateKeyPairSync } from 'node:crypto';
import { verifierKey } from '@fairlead/transparency-log';
import { expect, it } from 'vitest';
import { witnessesToAsk } from './witness-file.js';

const key = verifierKey('w.test', 'cosignature', generateKeyPairSync('ed25519').privateKey);
const asked = (url: string) => witnessesToAsk(`witness w ${key} ${url}\nquorum w\n`).map(({ url: { href } }) => href);

it.each(['https://w.test/prefix', 'http://127.0.0.1:8080/', 'http://localhost/x', 'http://[::1]:1/'])(
  'a witness at %s is asked',
  (url) => {
    expect(asked(url)).toEqual([url]);
  },
);

it('one without a URL is not', () => {
  expect(asked('')).toEqual([]);
});

it.each([
  'http://w.test/',
  'http://127.w.test/',
  'http://localhost.w.test/',
  'ftp://w.test/',
  'https://me@w.test/',
  'https://w.test/?key=1',
  'https://w.test/#a',
])('%s is no place to ask at', (url) => {
  expect(() => asked(url)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error);
});
