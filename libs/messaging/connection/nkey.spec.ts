import { createAccount, createUser, fromPublic, fromSeed } from '@nats-io/nkeys';
import { expect, it } from 'vitest';
import { createNkey, nkeyAuthenticator, nkeyFromSeed } from './nkey.js';

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const bytes = (written: string): Uint8Array => new TextEncoder().encode(written);

it.each([createUser(), createAccount()])('knows the same public key of a seed as the library of NATS', (pair) => {
  const seed = text(pair.getSeed());
  expect(nkeyFromSeed(seed)).toEqual({ seed, publicKey: pair.getPublicKey() });
});

it('makes keys of users that the library takes, each another one', () => {
  const made = createNkey();
  expect(fromSeed(bytes(made.seed)).getPublicKey()).toBe(made.publicKey);
  expect(made.publicKey).toMatch(/^U[A-Z2-7]{55}$/);
  expect(createNkey().seed).not.toBe(made.seed);
});

it('signs a nonce so that whoever has the public key can tell', () => {
  const { seed, publicKey } = createNkey();
  const answer = nkeyAuthenticator(seed)('a nonce') as { readonly nkey: string; readonly sig: string };
  expect(answer.nkey).toBe(publicKey);
  const signature = Buffer.from(answer.sig, 'base64');
  expect(fromPublic(publicKey).verify(bytes('a nonce'), signature)).toBe(true);
  expect(fromPublic(publicKey).verify(bytes('another'), signature)).toBe(false);
  expect(nkeyAuthenticator(seed)()).toEqual({ nkey: publicKey, sig: '' });
});

it.each<[string, (seed: string) => string]>([
  ['is a public key', (seed) => nkeyFromSeed(seed).publicKey],
  ['was cut', (seed) => seed.slice(0, -4)],
  ['has a letter changed', (seed) => `${seed.slice(0, 20)}${seed[20] === 'A' ? 'B' : 'A'}${seed.slice(21)}`],
  ['is empty', () => ''],
])('refuses what %s, and does not repeat it', (_what, changed) => {
  const wrong = changed(createNkey().seed);
  expect(() => nkeyFromSeed(wrong)).toThrowError(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', message: 'the NATS seed is not a valid nkey seed' }),
  );
});
