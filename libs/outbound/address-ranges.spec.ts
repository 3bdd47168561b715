import { expect, it } from 'vitest';
import { AddressRanges } from './address-ranges.js';

it('has what an operator wrote, by whichever name of it', () => {
  const ranges = AddressRanges.parse('10.0.0.0/8, 192.168.1.7,fd00::/8');
  for (const address of ['10.1.2.3', '192.168.1.7', 'fd12::1', '::ffff:10.0.0.1'])
    expect(ranges.has(address)).toBe(true);
  for (const address of ['11.0.0.1', '192.168.1.8', 'fe80::1%eth0', '::1', 'x', ''])
    expect(ranges.has(address)).toBe(false);
  expect(AddressRanges.NONE.has('10.0.0.1')).toBe(false);
  expect(AddressRanges.ALL.has('::ffff:127.0.0.1')).toBe(true);
});

it.each(['10.0.0.0/33', '10.0.0/8', '::1/129', '10.0.0.0/8/8', 'localhost', '10.0.0.0/', '10.0.0.0/-1'])(
  'refuses %s',
  (text) => expect(() => AddressRanges.parse(text)).toThrow('not a range of addresses'),
);
