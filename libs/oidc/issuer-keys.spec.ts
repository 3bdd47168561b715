import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '@fairlead/clock';
import { testAuthority } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { IssuerKeys, checkIssuer } from './index.js';
import { answerJson, newSigningKey, startTestIssuer, type TestIssuer } from './testing/index.js';

let issuer: TestIssuer;
let nowMs: number;
let keys: IssuerKeys;
const clock: Clock = {
  nowMs: () => nowMs,
  monotonicMs: () => nowMs,
  sleep: (ms, signal) => sleep(ms, undefined, { signal }),
};
const failures: string[] = [];

beforeEach(async () => {
  issuer = await startTestIssuer();
  nowMs = 1_000_000;
  failures.length = 0;
  const onFailed = ({ message }: Error) => void failures.push(message);
  keys = new IssuerKeys({ url: issuer.url, certificateAuthority: null, jwks: null }, { clock, onFailed });
});
afterEach(() => issuer[Symbol.asyncDispose]());

const known = () => issuer.keys[0]!.kid;
const find = (kid: string | undefined = known(), algorithm = 'ES256') =>
  keys.find(kid, algorithm).then(
    (found) => found.length,
    ({ code }: { code: string }) => code,
  );

describe('the keys of an issuer', () => {
  it('are fetched once, also for many at once, and again after ten minutes', async () => {
    expect(await Promise.all(Array.from({ length: 20 }, () => find()))).toEqual(Array.from({ length: 20 }, () => 1));
    nowMs += 9 * 60_000;
    expect(await find()).toBe(1);
    expect(issuer.asked).toBe(1);
    nowMs += 2 * 60_000;
    expect(await find()).toBe(1);
    expect(issuer.asked).toBe(2);
  });

  it('are there at once after a rotation, and those that were taken back are gone within ten minutes', async () => {
    const old = known();
    expect(await find()).toBe(1);
    nowMs += 5_000;
    issuer.keys = [await newSigningKey()];
    expect(await find()).toBe(1);
    expect(await find(old)).toBe('UNAVAILABLE');
    nowMs += 5_000;
    expect(await find(old)).toBe('UNAUTHENTICATED');
  });

  it('are not asked for more than once in five seconds, however many unknown keys tokens name', async () => {
    expect(await find()).toBe(1);
    for (let at = 0; at < 200; at++) {
      nowMs += 100;
      expect(await find(`made-up-${at}`)).toMatch(/^UNA/);
      expect(await find()).toBe(1);
    }
    expect(issuer.asked).toBeLessThanOrEqual(5);
    expect(issuer.asked).toBeGreaterThan(1);
  });

  it('go on for an hour while the issuer is down, and are back with it', async () => {
    expect(await find()).toBe(1);
    issuer.answers = { discovery: (_request, response) => void response.writeHead(503).end() };
    nowMs += 59 * 60_000;
    expect(await find()).toBe(1);
    expect(await find('unknown')).toBe('UNAVAILABLE');
    nowMs += 2 * 60_000;
    expect(await find()).toBe('UNAVAILABLE');
    expect(failures[0]).toContain('503');
    issuer.answers = {};
    expect(await find()).toBe('UNAVAILABLE');
    nowMs += 5_000;
    expect(await find()).toBe(1);
  });

  it('without a name fit a token without one if there is no other', async () => {
    expect(await keys.find(undefined, 'ES256')).toHaveLength(1);
    expect(await keys.find(undefined, 'ES256')).toHaveLength(1);
    nowMs += 11 * 60_000;
    issuer.keys = [await newSigningKey(), await newSigningKey()];
    await expect(keys.find(undefined, 'ES256')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });
});

describe('keys that are none', () => {
  const publish = (jwks: unknown) => (issuer.answers = { keys: (_request, response) => answerJson(response, jwks) });

  it('are those of which everybody has the secret', async () => {
    const { privateKey, publicJwk } = issuer.keys[0]!;
    const { exportJWK } = await import('jose');
    publish({ keys: [{ ...(await exportJWK(privateKey)), kid: known() }] });
    expect(await find()).toBe('UNAUTHENTICATED');
    nowMs += 5_000;
    publish({ keys: [{ kty: 'oct', k: 'c2VjcmV0', kid: known(), alg: 'HS256' }, publicJwk] });
    expect(await find(known(), 'HS256')).toBe('UNAUTHENTICATED');
    expect(await find()).toBe(1);
  });

  it.each([
    ['for encryption', { use: 'enc' }],
    ['for another algorithm', { alg: 'ES384' }],
    ['that may not verify', { key_ops: ['sign'] }],
    ['that is not on its curve', { x: 'AAAA' }],
  ])('are one %s', async (_what, over) => {
    publish({ keys: [{ ...issuer.keys[0]!.publicJwk, ...over }] });
    expect(await find()).toBe('UNAUTHENTICATED');
  });

  it('are weak ones of RSA', async () => {
    const { generateKeyPairSync } = await import('node:crypto');
    const weak = generateKeyPairSync('rsa', { modulusLength: 1_024 }).publicKey.export({ format: 'jwk' });
    publish({ keys: [{ ...weak, kid: known() }] });
    expect(await find(known(), 'RS256')).toBe('UNAUTHENTICATED');
  });
});

describe('an issuer that is not what it says', () => {
  const discovery = (over: Record<string, unknown>) =>
    (issuer.answers = {
      discovery: (_request, response) =>
        answerJson(response, { issuer: issuer.url, jwks_uri: `${issuer.url}/keys`, ...over }),
    });

  it.each([
    ['another name', () => ({ issuer: 'https://issuer.example' }), 'of another issuer'],
    ['a slash more in its name', () => ({ issuer: `${issuer.url}/` }), 'of another issuer'],
    ['its keys in the clear elsewhere', () => ({ jwks_uri: 'http://192.0.2.1/keys' }), 'no https URL'],
    ['its keys in a file', () => ({ jwks_uri: 'file:///etc/passwd' }), 'no https URL'],
    ['no keys', () => ({ jwks_uri: 5 }), 'no jwks_uri'],
  ])('has %s', async (_what, over, why) => {
    discovery(over());
    expect(await find()).toBe('UNAVAILABLE');
    expect(failures.join()).toContain(why);
    expect(issuer.asked).toBe(0);
  });

  it.each(['discovery', 'keys'] as const)('redirects its %s', async (which) => {
    await using elsewhere = await startTestIssuer();
    const path = which === 'keys' ? '/keys' : '/.well-known/openid-configuration';
    issuer.answers = {
      [which]: (_request: unknown, response: import('node:http').ServerResponse) =>
        void response.writeHead(302, { location: `${elsewhere.url}${path}` }).end(),
    };
    expect(await find()).toBe('UNAVAILABLE');
    expect(failures.join()).toContain('answered 302');
    expect(elsewhere.asked).toBe(0);
  });

  it('answers without end, or nothing that could be read', async () => {
    issuer.answers = {
      keys: (_request, response) => {
        const more = () => response.write('x'.repeat(65_536), (error) => error ?? more());
        more();
      },
    };
    expect(await find()).toBe('UNAVAILABLE');
    expect(failures.pop()).toContain('more than 262144 bytes');
    nowMs += 5_000;
    issuer.answers = { keys: (_request, response) => void response.end('<html>') };
    expect(await find()).toBe('UNAVAILABLE');
    expect(failures.pop()).toContain('not JSON');
    nowMs += 5_000;
    issuer.answers = { keys: (_request, response) => answerJson(response, []) };
    expect(await find()).toBe('UNAVAILABLE');
    expect(failures.pop()).toContain('no JWK set');
  });

  it('says nothing', async () => {
    issuer.answers = { discovery: () => {} };
    keys = new IssuerKeys(
      { url: issuer.url, certificateAuthority: null, jwks: null },
      { requestTimeoutMs: 100, onFailed: ({ message }) => void failures.push(message) },
    );
    expect(await find()).toBe('UNAVAILABLE');
    expect(failures.pop()).toContain('did not answer in time');
  });
});

it('with roots of its own is believed by these alone', async () => {
  const [authority, another] = await Promise.all([testAuthority(), testAuthority()]);
  const { privateKeyPem: key, chainPem: cert } = await authority.serving(['127.0.0.1']);
  await using secure = await startTestIssuer({ key, cert });
  const { kid } = secure.keys[0]!;
  const by = (certificateAuthority: string | null) =>
    new IssuerKeys({ url: secure.url, certificateAuthority, jwks: null }).find(kid, 'ES256');
  expect(await by(authority.roots.join(''))).toHaveLength(1);
  await expect(by(another.roots.join(''))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(by(null)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(secure.asked).toBe(1);
});

describe('an issuer', () => {
  const check =
    (url: string, jwks: unknown = null) =>
    () =>
      checkIssuer({ url, jwks, certificateAuthority: null });

  it.each([
    'https://a.example',
    'https://a.example/realms/x/',
    'http://127.0.0.1:80',
    'http://localhost:1/',
    'http://[::1]:1',
  ])('may be %s', (url) => {
    expect(check(url)).not.toThrow();
  });

  it.each([
    'http://a.example',
    'http://127.0.0.1.example',
    'http://localhost.example',
    'https://me@a.example',
    'https://a.example?x=1',
    'https://a.example#x',
    'ftp://a.example',
    'a.example',
  ])('is not %s', (url) => {
    expect(check(url)).toThrow('https URL');
  });

  it('has keys that can be used, if it has any of its own', async () => {
    const { publicJwk } = await newSigningKey();
    expect(check('https://a.example', { keys: [publicJwk] })).not.toThrow();
    expect(check('https://a.example', { keys: [{ kty: 'oct', k: 'AAAA' }] })).toThrow('no public key');
    await expect(
      new IssuerKeys({ url: 'https://a.example', jwks: { keys: [publicJwk] }, certificateAuthority: null }).find(
        'x',
        'ES256',
      ),
    ).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });
});
