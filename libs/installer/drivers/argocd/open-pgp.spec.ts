import { expect, it } from 'vitest';
import { readSigningKey } from './open-pgp.js';
import { ED25519, WITH_SUBKEY } from '../../testing/pgp-keys.js';

it('names a key as GnuPG does, and its subkeys', () => {
  expect(readSigningKey(ED25519.publicKey)).toEqual({ id: ED25519.id, all: [ED25519.id] });
  expect(readSigningKey(WITH_SUBKEY.publicKey)).toEqual({
    id: WITH_SUBKEY.id,
    all: [WITH_SUBKEY.id, WITH_SUBKEY.subkey],
  });
});

it('reads nothing but one key', () => {
  const { publicKey } = ED25519;
  expect(readSigningKey(publicKey + publicKey)).toBeNull();
  expect(readSigningKey('')).toBeNull();
  expect(readSigningKey(publicKey.replace(/\n\n[^]*=BVrf/, '\n\nAAAA\n=BVrf'))).toBeNull();
  // Cut off in the middle.
  expect(readSigningKey(publicKey.replace(/\n\n[^]*=BVrf/, '\n\nmDMEawLkExYJKwYBBAHaRw8BAQdAY\n=BVrf'))).toBeNull();
});
