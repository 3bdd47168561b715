import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { AddressLimiter } from './address-limiter.js';

const limited = expect.objectContaining({ code: 'RATE_LIMITED' }) as Error;

it('lets a burst pass, then what it regains, and tells how long to wait', () => {
  let now = 0;
  const limiter = new AddressLimiter({ burst: 2, perSecond: 0.5 }, () => now);
  limiter.take('192.0.2.1');
  limiter.take('192.0.2.1');
  expect(() => limiter.take('192.0.2.1')).toThrow(expect.objectContaining({ details: { retryAfterSeconds: 2 } }));
  limiter.check('192.0.2.2');
  now = 2_000;
  limiter.take('192.0.2.1');
  expect(() => limiter.check('192.0.2.1')).toThrow(limited);
});

it('takes an IPv6 /64 for one', () => {
  const limiter = new AddressLimiter({ burst: 1, perSecond: 1 }, () => 0);
  limiter.take('2001:db8::1');
  expect(() => limiter.take('2001:db8:0:0:ffff::2')).toThrow(limited);
  limiter.take('2001:db8:0:1::1');
  limiter.take('::1');
  limiter.take('::ffff:192.0.2.1');
  limiter.take('::ffff:192.0.2.2');
});

it('remembers no more addresses than allowed', () => {
  fc.assert(
    fc.property(fc.array(fc.ipV4(), { maxLength: 100 }), (addresses) => {
      const limiter = new AddressLimiter({ burst: 1_000, perSecond: 1, maxAddresses: 10 }, () => 0);
      for (const address of addresses) limiter.take(address);
      expect(limiter.size).toBeLessThanOrEqual(10);
    }),
  );
});
