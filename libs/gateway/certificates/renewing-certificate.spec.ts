import { silentLogger } from '@fairlead/observability';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RenewingCertificate } from './renewing-certificate.js';

const HOUR_MS = 3_600_000;

let fetches: number;
let failing: boolean;
let stopping: AbortController;
let certificate: RenewingCertificate;

beforeEach(async () => {
  vi.useFakeTimers();
  [fetches, failing, stopping] = [0, false, new AbortController()];
  const obtain = () => {
    fetches += 1;
    if (failing) return Promise.reject(new Error('keys is away'));
    const window = { notBefore: new Date(), notAfter: new Date(Date.now() + 24 * HOUR_MS) };
    return Promise.resolve({ keyPem: `key ${fetches}`, chainPem: [], rootsPem: [], ...window });
  };
  certificate = new RenewingCertificate('identity', obtain, silentLogger);
  await certificate.start(stopping.signal);
});
afterEach(() => {
  stopping.abort();
  vi.useRealTimers();
});

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

describe('a certificate that renews itself', () => {
  it('is fetched again at two thirds of its life', async () => {
    await pass(15.9 * HOUR_MS);
    expect(fetches).toBe(1);
    await pass(0.2 * HOUR_MS);
    expect(fetches).toBe(2);
  });

  it('is fetched soon when it is told to, once however often it is told, and then as ever', async () => {
    await pass(HOUR_MS);
    for (let i = 0; i < 5; i += 1) certificate.renewWithin(5_000);
    await pass(5_000);
    expect([fetches, certificate.current?.keyPem]).toEqual([2, 'key 2']);
    await pass(15.9 * HOUR_MS);
    expect(fetches).toBe(2);
    await pass(0.2 * HOUR_MS);
    expect(fetches).toBe(3);
  });

  it('is not fetched in a loop by who finds fault with each', async () => {
    certificate.onChange(() => certificate.renewWithin(0));
    await pass(10_000);
    expect(fetches).toBeGreaterThan(5);
    expect(fetches).toBeLessThanOrEqual(11);
  });

  it('told to while it cannot be fetched tries on, and the one it has stays', async () => {
    failing = true;
    certificate.renewWithin(1_000);
    await pass(60_000);
    certificate.renewWithin(1_000);
    expect(certificate.current?.keyPem).toBe('key 1');
    failing = false;
    await pass(20_000);
    const now = fetches;
    expect(certificate.current?.keyPem).toBe(`key ${now}`);
    await pass(HOUR_MS);
    expect(fetches).toBe(now);
  });
});
