import { describe, expect, it } from 'vitest';
import { isInForce, scopeFilter } from './grant-scope.js';

const eu = { name: 'a', labels: { zone: 'eu', stage: 'test' } };
const us = { name: 'b', labels: { zone: 'us' } };

describe('scopeFilter', () => {
  it.each([
    [{ all: true as const }, [true, true]],
    [{ names: ['b', 'c'] }, [false, true]],
    [{ selector: 'zone=eu,stage!=production' }, [true, false]],
    [{ selector: '!stage' }, [false, true]],
  ])('%j', (scope, means) => {
    expect([eu, us].map(scopeFilter(scope))).toEqual(means);
  });
});

describe('isInForce', () => {
  const notBefore = '2026-01-01T00:00:00.000Z';
  const expiresAt = '2026-01-02T00:00:00.000Z';
  it.each([
    [{ notBefore, expiresAt }, -1, false],
    [{ notBefore, expiresAt }, 0, true],
    [{ notBefore, expiresAt }, 86_399_999, true],
    [{ notBefore, expiresAt }, 86_400_000, false],
    [{ notBefore: null, expiresAt }, -1e12, true],
    [{ notBefore, expiresAt: null }, 1e12, true],
  ])('%j after %i ms: %s', (grant, afterMs, inForce) => {
    expect(isInForce(grant, Date.parse(notBefore) + afterMs)).toBe(inForce);
  });
});
