import { expect, it } from 'vitest';
import { tokenState, type TokenFacts } from './token-state.js';

const now = new Date('2026-01-01T00:00:00Z');
const fresh: TokenFacts = { expiresAt: new Date('2026-01-01T00:00:01Z'), revokedAt: null, boundSpkiSha256: null };

it.each<[string, Partial<TokenFacts>]>([
  ['unused', {}],
  ['expired', { expiresAt: now }],
  ['used', { boundSpkiSha256: 'a' }],
  ['used', { boundSpkiSha256: 'a', expiresAt: now }],
  ['revoked', { revokedAt: now }],
  ['revoked', { revokedAt: now, boundSpkiSha256: 'a', expiresAt: now }],
])('%s: %o', (state, change) => {
  expect(tokenState({ ...fresh, ...change }, now)).toBe(state);
});
