import { Issuer } from '@fairlead/contracts';
import { describe, expect, it } from 'vitest';
import { checkNewIssuer, endsLogins } from './issuer-rules.js';

const issuer = (over: Record<string, unknown> = {}): Issuer =>
  Issuer.parse({
    name: 'corp',
    kind: 'oidc',
    url: 'https://id.example',
    audience: 'fairlead',
    prefix: 'corp:',
    ...over,
  });
const other = (over: Record<string, unknown> = {}) =>
  issuer({ name: 'other', url: 'https://other.example', prefix: 'other:', ...over });

describe('a new issuer', () => {
  it('may stand beside others that nobody could take it for', () => {
    expect(() => checkNewIssuer(issuer(), [other(), other({ name: 'third', prefix: 'third:' })])).not.toThrow();
    expect(() => checkNewIssuer(issuer(), [other({ url: 'https://id.example', audience: 'else' })])).not.toThrow();
    expect(() => checkNewIssuer(issuer({ prefix: '' }), [])).not.toThrow();
  });

  it.each([
    ['the same prefix', { prefix: 'corp:' }],
    ['a prefix that begins like its own', { prefix: 'corp:eu:' }],
    ['the beginning of its prefix', { prefix: 'co' }],
    ['no prefix at all', { prefix: '' }],
    ['the same URL and audience', { url: 'https://id.example' }],
  ])('is refused beside one with %s', (_what, over) => {
    expect(() => checkNewIssuer(issuer(), [other(over)])).toThrow(expect.objectContaining({ code: 'ALREADY_EXISTS' }));
  });

  it.each([
    { prefix: 'system:' },
    { prefix: 'token:x:' },
    { prefix: 'workload:' },
    { prefix: 'fairlead:' },
    { prefix: 'a\u0000' },
    { kind: 'workload' },
    // Anybody's token of GitHub says something there.
    { kind: 'workload', requiredClaims: { repository: '*', sub: '**' } },
  ])('is refused as %j', (over) => {
    expect(() => checkNewIssuer(issuer(over), [])).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });

  it('is refused when there are 32', () => {
    const many = Array.from({ length: 32 }, (_, at) => other({ name: `i${at}` }));
    expect(() => checkNewIssuer(issuer(), many)).toThrow('32 issuers');
  });
});

describe('a change of an issuer', () => {
  it('ends logins unless it is only about how they begin', () => {
    const before = issuer({ requiredClaims: { a: '1', b: '2' } });
    expect(endsLogins(before, issuer({ requiredClaims: { b: '2', a: '1' } }))).toBe(false);
    expect(endsLogins(before, { ...before, scopes: ['openid'], deviceCode: true })).toBe(false);
    for (const over of [
      { url: 'https://else.example' },
      { audience: 'else' },
      { prefix: 'else:' },
      { userClaim: 'email' },
      { groupsClaim: 'roles' },
      { requiredClaims: { a: '1' } },
      { certificateAuthority: 'PEM' },
      { kind: 'workload' as const },
      { jwks: { keys: [{ kty: 'EC' }] } },
    ])
      expect(endsLogins(before, { ...before, ...over })).toBe(true);
  });
});
