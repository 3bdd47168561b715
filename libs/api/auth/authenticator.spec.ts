import { Principal } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { RpcClient } from '@fairlead/messaging';
import { beforeEach, expect, it } from 'vitest';
import { Backend } from '../feature/backend.js';
import { AddressLimiter } from './address-limiter.js';
import { Authenticator } from './authenticator.js';

const principal = Principal.parse({ user: 'admin', groups: [], tenantId: 'default', tokenId: crypto.randomUUID() });
const header = 'Bearer a-token-of-some-length';
let now = 0;
let asked: unknown[] = [];
let answer: () => unknown;
let authenticator: Authenticator;

beforeEach(() => {
  [now, asked, answer] = [0, [], () => principal];
  const call = async (_rpc: unknown, _tenant: string, input: unknown): Promise<unknown> => {
    asked.push(input);
    return answer();
  };
  const limiter = new AddressLimiter({ burst: 3, perSecond: 1 }, () => now);
  authenticator = new Authenticator(new Backend({ call } as RpcClient), limiter, () => now);
});

it('remembers a yes for ten seconds and sends only the hash', async () => {
  await authenticator.authenticate(header, '192.0.2.1');
  now = 9_999;
  await authenticator.authenticate(header, '192.0.2.1');
  expect(asked).toHaveLength(1);
  expect(JSON.stringify(asked)).not.toContain('a-token');
  now = 10_001;
  await authenticator.authenticate(header, '192.0.2.1');
  expect(asked).toHaveLength(2);
});

it('remembers nobody beyond the end of the token', async () => {
  answer = () => ({ ...principal, expiresAt: new Date(3_000).toISOString() });
  await authenticator.authenticate(header, '192.0.2.1');
  now = 2_999;
  await authenticator.authenticate(header, '192.0.2.1');
  expect(asked).toHaveLength(1);
  now = 3_000;
  await authenticator.authenticate(header, '192.0.2.1');
  expect(asked).toHaveLength(2);
});

it('never remembers a no', async () => {
  answer = () => {
    throw new FairleadError('UNAUTHENTICATED', 'unknown');
  };
  await expect(authenticator.authenticate(header, '192.0.2.1')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  answer = () => principal;
  await expect(authenticator.authenticate(header, '192.0.2.1')).resolves.toEqual(principal);
});

it('lets a token that was good pass an address that keeps failing', async () => {
  await authenticator.authenticate(header, '192.0.2.1');
  for (let index = 0; index < 3; index += 1) {
    await expect(authenticator.authenticate('Bearer', '192.0.2.1')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  }
  now = 11_000;
  for (let index = 0; index < 20; index += 1) {
    await expect(authenticator.authenticate('x', '192.0.2.1')).rejects.toBeInstanceOf(FairleadError);
  }
  await expect(authenticator.authenticate(header, '192.0.2.1')).resolves.toEqual(principal);
  const other = 'Bearer another-token-of-some-length';
  await expect(authenticator.authenticate(other, '192.0.2.1')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  expect(asked).toHaveLength(2);
});

it('takes silence of the access service for unavailable, not for a failed attempt', async () => {
  answer = () => {
    throw new FairleadError('DEADLINE_EXCEEDED', 'registration did not answer');
  };
  for (let index = 0; index < 5; index += 1) {
    await expect(authenticator.authenticate(header, '192.0.2.1')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  }
});

it.each(['', 'Bearer', 'Bearer short', 'Basic YWRtaW46YWRtaW4=', `Bearer ${'x'.repeat(600)}`, `${header} more`])(
  'refuses the header %j without asking anybody, and counts it',
  async (bad) => {
    for (let index = 0; index < 3; index += 1) {
      await expect(authenticator.authenticate(bad, '192.0.2.1')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    }
    await expect(authenticator.authenticate(header, '192.0.2.1')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    expect(asked).toHaveLength(0);
  },
);

it('refuses who sends no token at all, which guesses nothing and shuts nobody out', async () => {
  for (let index = 0; index < 20; index += 1) {
    await expect(authenticator.authenticate(undefined, '192.0.2.1')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  }
  expect(asked).toHaveLength(0);
  await expect(authenticator.authenticate(header, '192.0.2.1')).resolves.toBeDefined();
});
