import { expect, it } from 'vitest';
import { masterKeyOf } from './master-key.js';

const mount = { FAIRLEAD_VAULT_MOUNT: 'transit' };
const file = { FAIRLEAD_MASTER_KEY_FILE: '/nowhere/master.key' };
const token = {
  FAIRLEAD_PKCS11_MODULE: '/usr/lib/module.so',
  FAIRLEAD_PKCS11_TOKEN: 'my token',
  FAIRLEAD_PKCS11_KEY: 'fairlead',
  FAIRLEAD_PKCS11_PIN_FILE: '/nowhere/pin',
};
const vault = {
  FAIRLEAD_VAULT_URL: 'https://vault.example:8200',
  FAIRLEAD_VAULT_KEY: 'fairlead',
  FAIRLEAD_VAULT_TOKEN_FILE: '/nowhere/token',
};

it('takes any one place of the master key, and several with a choice', () => {
  for (const one of [file, token, vault]) expect(() => masterKeyOf({ ...mount, ...one })).not.toThrow();
  const all = { ...mount, ...file, ...token, ...vault };
  expect(() => masterKeyOf({ ...all, FAIRLEAD_SEAL_WITH: 'vault' })).not.toThrow();
  expect(() => masterKeyOf(all)).toThrow('several places of the master key are set (file, pkcs11, vault)');
});

it('says what is missing', () => {
  expect(() => masterKeyOf(mount)).toThrow('set FAIRLEAD_MASTER_KEY_FILE, or another place');
  expect(() => masterKeyOf({ ...mount, ...file, FAIRLEAD_SEAL_WITH: 'vault' })).toThrow(
    'FAIRLEAD_SEAL_WITH is vault, whose settings are missing; those of file are there',
  );
  expect(() => masterKeyOf({ ...mount, ...file, FAIRLEAD_PKCS11_KEY: 'fairlead' })).toThrow(
    'FAIRLEAD_PKCS11_KEY: FAIRLEAD_PKCS11_MODULE, FAIRLEAD_PKCS11_TOKEN, FAIRLEAD_PKCS11_PIN_FILE is missing beside it',
  );
  expect(() => masterKeyOf({ ...mount, ...vault, FAIRLEAD_VAULT_CA_FILE: '/nowhere/ca.pem' })).toThrow(
    'FAIRLEAD_VAULT_CA_FILE /nowhere/ca.pem',
  );
});
