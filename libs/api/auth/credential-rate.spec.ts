import { expect, it } from 'vitest';
import { CredentialRate } from './credential-rate.js';

it('lets a token have one for each of a thousand clusters at once, then some each second, and no other wait', () => {
  let nowMs = 0;
  const rate = new CredentialRate(() => nowMs);
  const take = (tokenId = 'one') => rate.take(tokenId);
  for (let taken = 0; taken < 1_000; taken += 1) take();
  expect(() => take()).toThrow(
    expect.objectContaining({ code: 'RATE_LIMITED', details: { retryAfterSeconds: 1 } }) as Error,
  );
  take('another');
  nowMs = 1_000;
  take();
  take();
  expect(() => take()).toThrow('too many credentials');
});
