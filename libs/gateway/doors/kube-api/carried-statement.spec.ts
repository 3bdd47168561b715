import { readAttributes } from '@fairlead/access-rules';
import { randomUUID } from 'node:crypto';
import {
  SignedTime,
  StatementVerifier,
  joinBearer,
  signAccessStatement,
  type AccessStatement,
} from '@fairlead/access-statement';
import { testAuthority, type TestAuthority } from '@fairlead/testing';
import { beforeAll, expect, it, describe } from 'vitest';
import type { Admission } from './admission.js';
import { bearerOf } from './bearer.js';
import { carriedStatement, identityAtAgent } from './carried-statement.js';

const cluster = { tenantId: 'default', clusterId: randomUUID() } as Admission['cluster'];
const principal = { tokenId: randomUUID(), user: 'corp:alice' } as Admission['principal'];
const statement: AccessStatement = {
  version: 1,
  tenantId: 'default',
  clusterId: cluster.clusterId,
  tokenId: principal.tokenId,
  kind: 'login',
  user: 'corp:alice',
  rules: [],
  notBefore: new Date().toISOString(),
  openUntil: new Date(Date.now() + 600_000).toISOString(),
  streamsUntil: new Date(Date.now() + 600_000).toISOString(),
  serial: randomUUID(),
};

let authority: TestAuthority;
let verifier: StatementVerifier;
let envelope: Uint8Array;
let sign: (rules: AccessStatement['rules']) => Promise<Uint8Array>;

beforeAll(async () => {
  authority = await testAuthority();
  const trust = { rootsPem: authority.roots, trustDomain: authority.trustDomain };
  verifier = new StatementVerifier({ trust: () => trust, time: new SignedTime(Date.now) });
  const { privateKeyPem, chain } = await authority.service('access-statements');
  const by = { keyPem: privateKeyPem, chainPem: chain.slice(0, -1) };
  sign = (rules) => signAccessStatement({ ...statement, rules, serial: randomUUID() }, by);
  envelope = await sign([]);
});

const headers = (token: string): string[] => ['Authorization', `Bearer ${token}`];
const alone = { identity: { user: 'corp:alice', groups: [], extra: [] }, granted: undefined };
const carried = (admission: object = {}, token = joinBearer({ secret: 'flt_x', statement: envelope })) =>
  carriedStatement(verifier, headers(token), { cluster, principal, ...alone, ...admission });

it('passes on what was sent, with its digest, and nothing where nothing was', async () => {
  expect(await carried()).toEqual({ envelope, digest: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/) as string });
  expect(await carried({}, 'flt_x')).toBeUndefined();
});

it.each([
  ['another token', { principal: { ...principal, tokenId: randomUUID() } }],
  ['another user', { principal: { ...principal, user: 'corp:bob' } }],
  ['another cluster', { cluster: { ...cluster, clusterId: randomUUID() } }],
  ['another tenant', { cluster: { ...cluster, tenantId: 'other' } }],
])('refuses one of %s', async (_, admission) => {
  await expect(carried(admission)).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
});

describe('one that is older than what is granted', () => {
  const view: AccessStatement['rules'][number] = {
    grantId: randomUUID(),
    effect: 'allow',
    groups: ['fairlead:view'],
    narrowing: { namespaces: ['shop'] },
  };
  const PODS = '/api/v1/namespaces/shop/pods';
  const REVIEW = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  interface Now {
    readonly method?: string;
    readonly path?: string;
    readonly groups?: string[];
    readonly as?: { user: string; groups: string[] };
    readonly every?: string[];
  }
  /** With a statement of these rules, when this is granted by now. */
  const shown = async (rules: AccessStatement['rules'], now: Now) => {
    const { method = 'GET', path = PODS, groups = ['fairlead:view'], as, every = groups } = now;
    const asked = { attributes: readAttributes(method, path), as };
    const admission = { identity: { ...alone.identity, groups }, granted: { asked, everyGroup: every } };
    return carried(admission, joinBearer({ secret: 'flt_x', statement: await sign(rules) }));
  };
  const stale = expect.objectContaining({ code: 'STATEMENT_STALE' }) as Error;

  it.each<[string, AccessStatement['rules'], Now]>([
    ['does not hold the request', [view], { path: '/api/v1/namespaces/bank/pods' }],
    ['denies what is not denied any more', [view, { ...view, effect: 'deny', groups: [] }], {}],
    ['gives a group less', [view], { groups: ['fairlead:edit', 'fairlead:view'] }],
    ['lets nobody act as somebody else', [view], { as: { user: 'corp:bob', groups: [] }, groups: [] }],
    [
      'would say no to a question about rights',
      [view],
      { method: 'POST', path: REVIEW, groups: [], every: ['fairlead:edit'] },
    ],
  ])('%s, and another is asked for', async (_, rules, now) => {
    await expect(shown(rules, now)).rejects.toThrow(stale);
  });

  it.each<[string, AccessStatement['rules'], Now]>([
    ['holds it', [view], {}],
    ['holds more than is granted by now', [{ ...view, groups: ['fairlead:edit', 'fairlead:view'] }], {}],
    [
      'lets somebody act so',
      [{ ...view, impersonate: { users: ['corp:bob'] } }],
      { as: { user: 'corp:bob', groups: [] }, groups: [] },
    ],
    ['knows every group', [view], { method: 'POST', path: REVIEW, groups: [], every: ['fairlead:view'] }],
  ])('%s, and goes on', async (_, rules, now) => {
    expect(await shown(rules, now)).toBeDefined();
  });
});

it('reads the secret before it, and no header that could be read in two ways', () => {
  expect(bearerOf(headers(joinBearer({ secret: 'flt_x', statement: envelope })))).toEqual({
    secret: 'flt_x',
    statement: envelope,
  });
  expect(bearerOf(headers('flt_x'))?.secret).toBe('flt_x');
  expect(bearerOf([...headers('flt_x'), ...headers('flt_y')])).toBeUndefined();
  for (const none of ['', 'x'.repeat(513), `${'x'.repeat(513)}~YQ`, '~YQ', 'a b'])
    expect(bearerOf(headers(none))).toBeUndefined();
  expect(bearerOf(['Authorization', 'Basic abc'])).toBeUndefined();
  expect(() => bearerOf(headers('flt_x~%'))).toThrow(expect.objectContaining({ code: 'STATEMENT_REFUSED' }));
});

describe('a question about rights of one’s own', () => {
  const identity = { user: 'corp:alice', groups: [], extra: [] };
  const sent = { envelope: new Uint8Array(), digest: 'd' };
  const asking = (path: string, as?: { user: string; groups: string[] }) => ({
    identity,
    granted: { asked: { attributes: readAttributes('POST', path), as }, everyGroup: ['fairlead:view'] },
  });
  const review = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

  it('goes with every group to an agent that is to decide by a statement', () => {
    expect(identityAtAgent(asking(review), sent).groups).toEqual(['fairlead:view']);
  });

  it('goes with its own groups where nobody decides so, or somebody acts as another', () => {
    expect(identityAtAgent(asking(review), undefined)).toBe(identity);
    expect(identityAtAgent(asking(review, { user: 'bob', groups: [] }), sent)).toBe(identity);
    expect(identityAtAgent(asking('/api/v1/namespaces/shop/pods'), sent)).toBe(identity);
    expect(identityAtAgent({ identity, granted: undefined }, sent)).toBe(identity);
  });
});
