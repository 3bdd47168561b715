import { expect, it } from 'vitest';
import { isPublicAddress } from './public-address.js';

it.each(['140.82.121.3', '1.1.1.1', '223.255.255.1', '2606:4700::1111', '2a00:1450:4001::1'])(
  'takes %s for public',
  (address) => expect(isPublicAddress(address)).toBe(true),
);

it.each([
  '127.0.0.1',
  '0.0.0.0',
  '10.1.2.3',
  '172.31.255.255',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '64:ff9b::7f00:1',
  'fe80::1',
  'fe80::1%eth0',
  'fc00::1',
  'ff02::1',
  '2001:db8::1',
  '2002:7f00:1::',
])('does not take %s for public', (address) => expect(isPublicAddress(address)).toBe(false));
