import { Issuer } from '@fairlead/contracts';
import { describe, expect, it } from 'vitest';
import { identityOf } from './login-identity.js';

const issuer = (over: Partial<Issuer> = {}): Issuer =>
  Issuer.parse({
    name: 'corp',
    kind: 'oidc',
    url: 'https://id.example',
    audience: 'fairlead',
    prefix: 'corp:',
    ...over,
  });
const refusal = (over: Partial<Issuer>, claims: Record<string, unknown>): string => {
  try {
    return `taken: ${identityOf(issuer(over), { sub: 'u1', ...claims }).user}`;
  } catch (error) {
    return (error as Error).message;
  }
};

describe('whom a token is of', () => {
  it('is named by the issuer’s claim and prefix, and so are the groups', () => {
    const claims = { sub: 'u1', email: 'alice@example.com', groups: ['ops', 'dev', 'ops'] };
    const identity = identityOf(issuer({ userClaim: 'email' }), claims);
    expect(identity).toEqual({
      kind: 'login',
      subject: 'u1',
      user: 'corp:alice@example.com',
      groups: ['corp:dev', 'corp:ops'],
    });
  });

  it('is a workload of a workload issuer', () => {
    const github = issuer({ kind: 'workload', prefix: 'gh:', requiredClaims: { repository_owner: 'octo' } });
    const identity = identityOf(github, { sub: 'repo:octo/shop:ref:refs/heads/main', repository_owner: 'octo' });
    expect(identity).toMatchObject({
      kind: 'workload',
      user: 'workload:gh:repo:octo/shop:ref:refs/heads/main',
      groups: [],
    });
  });

  it('may have one group, or none', () => {
    expect(identityOf(issuer(), { sub: 'u1', groups: 'ops' }).groups).toEqual(['corp:ops']);
    expect(identityOf(issuer(), { sub: 'u1' }).groups).toEqual([]);
    expect(identityOf(issuer({ groupsClaim: 'roles' }), { sub: 'u1', groups: ['x'], roles: null }).groups).toEqual([]);
    expect(identityOf(issuer(), { sub: 'u1', _claim_names: { address: 'src1' } }).groups).toEqual([]);
  });

  it.each([
    ['system:admin', ''],
    ['admin', ''],
    ['token:ci', ''],
    ['workload:x', ''],
    [':masters', 'system'],
  ])('is never %s with the prefix %j', (sub, prefix) => {
    expect(refusal({ prefix }, { sub })).toContain('reserved');
    expect(refusal({ prefix: 'corp:' }, { sub })).toContain('taken: corp:');
  });

  it.each([
    ['reserved group', { groups: ['system:masters'] }, { prefix: '' }],
    ['reserved group', { groups: ['fairlead:cluster-admin'] }, { prefix: '' }],
    ['more than 256 groups', { groups: Array.from({ length: 257 }, (_, at) => `g${at}`) }, {}],
    ['32768 bytes together', { groups: Array.from({ length: 200 }, (_, at) => `${at}${'x'.repeat(180)}`) }, {}],
    ['claim groups has no name', { groups: ['ops', 5] }, {}],
    ['claim groups has no name', { groups: { ops: true } }, {}],
    ['too many for a token', { _claim_names: { groups: 'src1' }, _claim_sources: {} }, {}],
    ['too many for a token', { _claim_names: { roles: 'src1' } }, { groupsClaim: 'roles' }],
    ['too many for a token', { hasgroups: true }, {}],
    ['claim groups has control characters', { groups: ['o\u0000ps'] }, {}],
    ['claim groups is longer than 256', { groups: ['x'.repeat(256)] }, {}],
    ['claim sub has no name', { sub: '' }, {}],
    ['claim sub has no name', { sub: 5 }, {}],
    ['claim sub has no name', { sub: null, name: 'alice' }, { userClaim: 'name' }],
    ['claim name has no name', { name: ['alice'] }, { userClaim: 'name' }],
    ['control characters', { sub: 'a\nb' }, {}],
    ['control characters', { sub: 'ali\u202Eecila' }, {}],
    ['control characters', { sub: 'alice\u200B' }, {}],
    ['control characters', { sub: 'alice ' }, {}],
    ['claim sub is longer than 256', { sub: 'x'.repeat(252) }, {}],
    ['email address is not verified', { email: 'a@b.c', email_verified: false }, { userClaim: 'email' }],
    ['email address is not verified', { email: 'a@b.c', email_verified: 'true' }, { userClaim: 'email' }],
  ] as [string, Record<string, unknown>, Partial<Issuer>][])('is nobody: %s', (why, claims, over) => {
    expect(refusal(over, claims)).toContain(why);
  });

  it('is held to the required claims', () => {
    const requiredClaims = { repository: 'octo/shop', ref: 'refs/heads/*', run_attempt: '1' };
    const good = { repository: 'octo/shop', ref: 'refs/heads/main', run_attempt: 1 };
    expect(refusal({ requiredClaims }, good)).toContain('taken');
    expect(refusal({ requiredClaims }, { ...good, repository: 'octo/shop2' })).toContain('claim repository');
    expect(refusal({ requiredClaims }, { ...good, repository: ['octo/shop'] })).toContain('claim repository');
    expect(refusal({ requiredClaims }, { ...good, ref: 'refs/tags/heads/main' })).toContain('claim ref');
    expect(refusal({ requiredClaims }, { ...good, run_attempt: undefined })).toContain('claim run_attempt');
    expect(refusal({ requiredClaims: { toString: '*' } }, {})).toContain('claim toString');
  });
});
