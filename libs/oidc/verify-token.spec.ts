import { createHmac, createPublicKey } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IssuerKeys, signedPart, verifyToken, type ExpectedToken } from './index.js';
import { newSigningKey, startTestIssuer, type TestIssuer } from './testing/index.js';

const AUDIENCE = 'fairlead';
let issuer: TestIssuer;
let other: TestIssuer;
let keys: IssuerKeys;

beforeAll(async () => {
  [issuer, other] = await Promise.all([startTestIssuer(), startTestIssuer()]);
  keys = new IssuerKeys({ url: issuer.url, certificateAuthority: null, jwks: null });
});
afterAll(() => Promise.all([issuer[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]));

const expected = (over: Partial<ExpectedToken> = {}): ExpectedToken => ({
  issuer: issuer.url,
  audience: AUDIENCE,
  maxAgeSeconds: 600,
  sharedAudience: 'if-issued-to-us',
  ...over,
});
const verify = (token: string, over?: Partial<ExpectedToken>) => verifyToken(token, keys, expected(over));
const refusal = (token: string, over?: Partial<ExpectedToken>) =>
  verify(token, over).then(
    () => 'taken',
    ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
  );
const seconds = (delta: number) => Math.floor(Date.now() / 1_000) + delta;
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const claims = () => ({ iss: issuer.url, aud: AUDIENCE, sub: 'alice', iat: seconds(0), exp: seconds(600) });

describe('a token of the issuer', () => {
  it.each(['RS256', 'PS256', 'ES256', 'ES384', 'ES512', 'EdDSA'])('is taken with %s', async (algorithm) => {
    const key = await newSigningKey(algorithm);
    const source = { url: issuer.url, certificateAuthority: null, jwks: { keys: [key.publicJwk] } };
    const token = await issuer.sign({ aud: AUDIENCE, groups: ['ops'] }, { key });
    const { claims: told } = await verifyToken(token, new IssuerKeys(source), expected());
    expect(told).toMatchObject({ sub: 'alice', groups: ['ops'] });
  });

  it.each([
    ['for several audiences, issued to us', { aud: [AUDIENCE, 'else'], azp: AUDIENCE }],
    ['almost a minute after its end', { aud: [AUDIENCE], exp: seconds(-50), iat: seconds(-300) }],
    ['almost a minute before its time', { aud: AUDIENCE, nbf: seconds(50), iat: seconds(50) }],
  ])('may be one %s', async (_what, told) => {
    expect((await verify(await issuer.sign(told))).claims.sub).toBe('alice');
  });

  it('may say that it is one', async () => {
    const token = await issuer.sign({ aud: AUDIENCE }, { header: { typ: 'JWT' } });
    expect((await verify(token)).claims.sub).toBe('alice');
  });
});

describe('a token that is refused', () => {
  const cases: [string, Record<string, unknown>, string, Partial<ExpectedToken>?][] = [
    ['for another audience', { aud: 'else' }, 'another audience'],
    ['for an audience that begins like ours', { aud: `${AUDIENCE}-2` }, 'another audience'],
    ['for nobody', {}, 'another audience'],
    ['for others too', { aud: [AUDIENCE, 'else'] }, 'for others too'],
    ['issued to another client', { aud: [AUDIENCE, 'else'], azp: 'else' }, 'for others too'],
    ['issued to another client, for us alone', { aud: AUDIENCE, azp: 'else' }, 'another client'],
    [
      'of a program, for others too',
      { aud: [AUDIENCE, 'else'], azp: AUDIENCE },
      'for others too',
      { sharedAudience: 'refused' },
    ],
    ['of another issuer', { aud: AUDIENCE, iss: 'https://issuer.example' }, 'another issuer'],
    ['of an issuer with a slash more', { aud: AUDIENCE, iss: '/' }, 'another issuer'],
    ['that has expired', { aud: AUDIENCE, exp: seconds(-70), iat: seconds(-300) }, 'it has expired'],
    ['without end', { aud: AUDIENCE, exp: null }, 'it has expired'],
    ['that is not valid yet', { aud: AUDIENCE, nbf: seconds(90) }, 'not valid yet'],
    ['that was issued too long ago', { aud: AUDIENCE, iat: seconds(-700) }, 'issued too long ago'],
    ['of the future', { aud: AUDIENCE, iat: seconds(90) }, 'in the future'],
    ['without a time of issue', { aud: AUDIENCE, iat: null }, 'in the future'],
    ['of nobody', { aud: AUDIENCE, sub: null }, 'whom it is of'],
    ['with times that are no numbers', { aud: AUDIENCE, exp: 'tomorrow' }, 'it has expired'],
  ];
  it.each(cases)('is one %s', async (_what, told, why, over) => {
    const answer = await refusal(await issuer.sign(told), over);
    expect(answer).toMatch(/^UNAUTHENTICATED: the token is not taken: /);
    expect(answer).toContain(why);
  });

  it('is one that nobody signed', async () => {
    const unsigned = `${encode({ alg: 'none' })}.${encode(claims())}.`;
    expect(await refusal(unsigned)).toContain('algorithm');
    expect(await refusal(`${encode({ alg: 'None' })}.${encode(claims())}.`)).toContain('algorithm');
  });

  it('is one with the public key as its secret', async () => {
    const [{ publicJwk, kid }] = issuer.keys as [(typeof issuer.keys)[number]];
    const pem = createPublicKey({ key: publicJwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
    for (const secret of [pem, JSON.stringify(publicJwk)]) {
      const input = `${encode({ alg: 'HS256', kid })}.${encode(claims())}`;
      const signature = createHmac('sha256', secret).update(input).digest('base64url');
      expect(await refusal(`${input}.${signature}`)).toContain('algorithm');
    }
  });

  it('is one by another key under a known key id', async () => {
    const forged = { ...(await newSigningKey()), kid: issuer.keys[0]!.kid };
    expect(await refusal(await issuer.sign({ aud: AUDIENCE }, { key: forged }))).toContain('signature');
  });

  it('is one by the key of another issuer, even under a key id of both', async () => {
    const token = await issuer.sign({ aud: AUDIENCE }, { key: { ...other.keys[0]!, kid: issuer.keys[0]!.kid } });
    expect(await refusal(token)).toContain('signature');
    expect(await refusal(await other.sign({ aud: AUDIENCE }, { key: issuer.keys[0]! }))).toContain('another issuer');
  });

  it('is one whose header brings its own key', async () => {
    const own = await newSigningKey();
    const header = { jwk: own.publicJwk, jku: `${other.url}/keys`, x5u: `${other.url}/keys` };
    const before = other.asked;
    const forged = { ...own, kid: issuer.keys[0]!.kid };
    expect(await refusal(await issuer.sign({ aud: AUDIENCE }, { key: forged, header }))).toContain('signature');
    expect(other.asked).toBe(before);
  });

  it.each(['at+jwt', 'logout+jwt', 'dpop+jwt'])('is one of the type %s', async (typ) => {
    expect(await refusal(await issuer.sign({ aud: AUDIENCE }, { header: { typ } }))).toContain('another type');
  });

  it('is one with a critical header that nobody understands', async () => {
    const token = await issuer.sign({ aud: AUDIENCE });
    const [, payload, signature] = token.split('.');
    const header = encode({ alg: 'ES256', kid: issuer.keys[0]!.kid, crit: ['exp'], exp: 1 });
    expect(await refusal(`${header}.${payload}.${signature}`)).toContain('not taken');
  });

  it('is one that is too long, or no token at all', async () => {
    const long = await issuer.sign({ aud: AUDIENCE, padding: 'x'.repeat(16_384) });
    expect(await refusal(long)).toContain('longer than 16384 bytes');
    for (const text of ['', '.', '..', 'a.b', 'a.b.c', 'a.b.c.d.e', '\0', `${encode([])}.${encode([])}.x`])
      expect(await refusal(text)).toMatch(/^UNAUTHENTICATED/);
  });

  it('tells nothing of its contents', async () => {
    const told = { aud: 'secret-audience', iss: 'https://secret.example', sub: 'secret-sub' };
    expect(await refusal(await issuer.sign(told))).not.toContain('secret');
    expect(await refusal(await issuer.sign({ aud: 'secret-audience' }))).not.toContain('secret');
  });
});

describe('the signed part of a token', () => {
  it('stays the same when its signature is written in another way', async () => {
    const token = await issuer.sign({ aud: AUDIENCE });
    const twin = negated(token);
    expect(twin).not.toBe(token);
    await verify(token);
    await verify(twin);
    expect(signedPart(twin)).toBe(signedPart(token));
  });
});

/** The other signature that ECDSA has for the same key and text: (r, n - s). */
function negated(token: string): string {
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
  const signature = Buffer.from(token.slice(token.lastIndexOf('.') + 1), 'base64url');
  const s = order - BigInt(`0x${signature.subarray(32).toString('hex')}`);
  const twin = Buffer.concat([signature.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex')]);
  return `${signedPart(token)}.${twin.toString('base64url')}`;
}
