import { createHash, randomBytes } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkedClient, problemOf, type Answer, type CheckedClient } from './testing/checked-client.js';
import { startScriptedApi, type ScriptedApi } from './testing/scripted-api.js';

let api: ScriptedApi;
let client: CheckedClient;

beforeAll(async () => {
  api = await startScriptedApi();
  client = await checkedClient(api);
  const { script } = api;
  const words = { userClaim: 'sub', groupsClaim: 'groups', certificateAuthority: null, requiredClaims: {}, jwks: null };
  const issuer = { ...words, audience: 'fairlead', scopes: ['openid'], deviceCode: true };
  script.issuers.set('corp', { ...issuer, name: 'corp', kind: 'oidc', url: 'https://corp.example', prefix: 'corp:' });
  script.issuers.set('ci', { ...issuer, name: 'ci', kind: 'workload', url: 'https://ci.example', prefix: 'ci:' });
});

afterAll(async () => {
  await client?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

/** Without any token. */
const ask = (method: string, path: string, body?: unknown): Promise<Answer> =>
  client.ask(method, path, { token: null, ...(body === undefined ? {} : { body }) });

const nonceVerifier = randomBytes(32).toString('base64url');
const nonce = createHash('sha256').update(nonceVerifier).digest('base64url');

/** Nobody signed it: the scripted service believes what it says. */
function idToken(more: object = {}): string {
  const claims = {
    iss: 'https://corp.example',
    aud: 'fairlead',
    sub: 'alice',
    jti: randomBytes(8).toString('hex'),
    ...more,
  };
  return `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2lnbmF0dXJl`;
}

it('says to anybody where people log in, and not where programs do', async () => {
  expect((await ask('GET', '/v1/login-options')).json).toEqual({
    issuers: [
      {
        name: 'corp',
        url: 'https://corp.example',
        clientId: 'fairlead',
        scopes: ['openid'],
        deviceCode: true,
        certificateAuthority: null,
      },
    ],
  });
});

it('gives a token for that of an issuer, another one for the session, and none after the end', async () => {
  const first = await ask('POST', '/v1/logins', { issuer: 'corp', token: idToken({ nonce }), nonceVerifier });
  expect(first).toMatchObject({ status: 201, json: { user: 'corp:alice' } });
  const { session } = first.json as { session: string };
  const renew = (): Promise<Answer> => ask('POST', '/v1/logins', { issuer: 'corp', token: idToken(), session });
  const second = await renew();
  expect(second).toMatchObject({ status: 201, json: { user: 'corp:alice', session: null } });
  const token = String(second.json['token']);
  expect((await client.ask('GET', '/v1/whoami', { token })).json).toMatchObject({ user: 'corp:alice' });
  expect((await client.ask('DELETE', '/v1/logins/current', { token })).status).toBe(204);
  expect((await client.ask('GET', '/v1/whoami', { token })).status).toBe(401);
  expect([api.script.logins, (await renew()).status]).toEqual([[], 401]);
});

it('ends a login by its session, and does not say whether there was one', async () => {
  const { json } = await ask('POST', '/v1/logins', { issuer: 'corp', token: idToken() });
  for (const session of [json['session'], json['session'], 'x'.repeat(43)]) {
    expect((await ask('POST', '/v1/logins/end', { session })).status).toBe(204);
  }
  expect(api.script.logins).toEqual([]);
});

it('refuses what is no proof, and repeats nothing of it', async () => {
  const stolen = idToken({ nonce });
  const refused = await ask('POST', '/v1/logins', { issuer: 'corp', token: stolen });
  expect(problemOf(refused)).toMatchObject({ code: 'UNAUTHENTICATED', next: 'log in again: fairlead login' });
  const other = await ask('POST', '/v1/logins', { issuer: 'corp', token: idToken({ iss: 'https://other.example' }) });
  expect(other.status).toBe(401);
  const secret = 'a-secret-of-some-length';
  for (const body of [
    {},
    { issuer: 'corp' },
    { issuer: 'corp', token: 'x', [secret]: 1 },
    { issuer: secret.repeat(9), token: 'x' },
    { issuer: 'corp', token: secret.repeat(1_000) },
    { issuer: 'corp', token: 'x', nonceVerifier: secret },
  ]) {
    const bad = await ask('POST', '/v1/logins', body);
    expect([bad.status, bad.text.includes(`${secret}${secret}`)]).toEqual([400, false]);
  }
  expect((await ask('POST', '/v1/logins/end', {})).status).toBe(400);
  expect((await ask('DELETE', '/v1/logins/current')).status).toBe(401);
  expect(api.logLines.join('\n')).not.toContain(stolen);
});

it('says that it does not know where the access service did not answer', async () => {
  api.script.loginFailure = new FairleadError('UNAVAILABLE', 'the keys of the issuer cannot be had');
  expect((await ask('POST', '/v1/logins', { issuer: 'corp', token: idToken() })).status).toBe(503);
  api.script.loginFailure = undefined;
});

it('lets an address log in only so often, and those who have a token ask all the same', async () => {
  const answers = await Promise.all(
    Array.from({ length: 140 }, () => ask('POST', '/v1/logins', { issuer: 'corp', token: 'x.e30.x' })),
  );
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThan(0);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401, 429]));
  expect((await client.ask('GET', '/v1/whoami')).status).toBe(200);
});
