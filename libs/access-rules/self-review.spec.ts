import { expect, it } from 'vitest';
import { compileRules, readAttributes, type AccessRule } from './index.js';
import { askRules, narrowRules } from './rules-review.js';
import { reviewAccess, selfReviewOf } from './self-review.js';

const grantId = '6f0d0f6e-3f3c-4d59-9a7b-0d4c7f5f0001';
const allow = (group: string, narrowing: AccessRule['narrowing'] = {}, more: Partial<AccessRule> = {}): AccessRule => ({
  grantId,
  effect: 'allow',
  groups: [group],
  narrowing,
  ...more,
});
const RULES = [
  allow('fairlead:view', { namespaces: ['shop'] }),
  allow('fairlead:edit', { namespaces: ['shop'], resources: ['configmaps'], verbs: ['get', 'update'] }),
  allow('fairlead:admin', { nonResourceUrls: ['/metrics'] }),
];
const review = (spec: object): string => JSON.stringify({ kind: 'SelfSubjectAccessReview', spec });
const about = (verb: string, resource: string, namespace = 'shop', more: object = {}): string =>
  review({ resourceAttributes: { verb, resource, namespace, ...more } });
const outcome = (body: string, rules = RULES) => reviewAccess(compileRules(rules), body);

it('knows a review from what only looks like one', () => {
  const of = (method: string, path: string) => selfReviewOf(readAttributes(method, path));
  expect(of('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews')).toBe('access');
  expect(of('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews?fieldManager=x')).toBe('access');
  expect(of('POST', '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews')).toBe('rules');
  expect(of('GET', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews')).toBeNull();
  expect(of('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews')).toBeNull();
  expect(of('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews')).toBeNull();
  expect(of('POST', '/api/v1/namespaces/x/selfsubjectaccessreviews')).toBeNull();
  expect(of('GET', '/version')).toBeNull();
});

it.each<[string, string, string[]]>([
  ['a pod there', about('get', 'pods'), ['fairlead:view']],
  ['what two rules hold', about('update', 'configmaps'), ['fairlead:edit', 'fairlead:view']],
  ['a URL', review({ nonResourceAttributes: { path: '/metrics', verb: 'get' } }), ['fairlead:admin']],
])('asks for %s with the groups that the request would have', (_, body, groups) => {
  const result = outcome(body);
  expect(result).toMatchObject({ kind: 'asked', groups });
  expect(JSON.parse(result.body)).toMatchObject(JSON.parse(body) as object);
});

it.each<[string, string]>([
  ['another namespace', about('get', 'pods', 'default')],
  ['all namespaces', about('list', 'pods', '')],
  ['everything', about('*', '*', '')],
  ['another URL', review({ nonResourceAttributes: { path: '/logs', verb: 'get' } })],
])('says no to %s', (_, body) => {
  const result = outcome(body);
  expect(result.kind).toBe('answered');
  expect(JSON.parse(result.body)).toMatchObject({
    kind: 'SelfSubjectAccessReview',
    status: { allowed: false, reason: expect.stringContaining('fairlead: ') as string },
  });
});

it('says no to what is denied, and to everything where something is', () => {
  const rules = [
    allow('fairlead:cluster-admin'),
    allow('x', { resources: ['secrets'] }, { effect: 'deny', groups: [] }),
  ];
  expect(outcome(about('get', 'secrets'), rules).kind).toBe('answered');
  expect(outcome(about('*', '*', ''), rules).kind).toBe('answered');
  expect(outcome(about('get', 'pods'), rules).kind).toBe('asked');
  expect(outcome(about('*', '*', ''), [allow('fairlead:cluster-admin')]).kind).toBe('asked');
});

it('asks as somebody else only where a grant lets it', () => {
  const rules = compileRules([allow('fairlead:view', {}, { impersonate: { users: ['bob'], groups: ['dev'] } })]);
  const as = { user: 'bob', groups: ['dev'] };
  expect(reviewAccess(rules, about('get', 'pods'), as)).toMatchObject({ kind: 'asked', groups: ['dev'] });
  expect(reviewAccess(rules, about('get', 'pods'), { ...as, user: 'eve' }).kind).toBe('answered');
});

it('writes anew what it read, and takes nothing that could be read in two ways', () => {
  const twice =
    '{"spec":{"resourceAttributes":{"verb":"get","resource":"nodes","verb":"list","VERB":"delete","resource":"pods","namespace":"shop"}}}';
  const { body } = outcome(twice);
  const { spec } = JSON.parse(body) as { spec: { resourceAttributes: object } };
  expect(spec.resourceAttributes).toMatchObject({ verb: 'list', resource: 'pods' });
  expect(body).not.toContain('VERB');
  for (const wrong of ['', '{', '[]', 'null', '{"spec":{}}', '{"spec":{"resourceAttributes":{"verb":1}}}']) {
    expect(() => outcome(wrong)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  }
  const both = review({ resourceAttributes: { verb: 'get' }, nonResourceAttributes: { path: '/', verb: 'get' } });
  expect(() => outcome(both)).toThrow('one of them');
});

it('lists no rule that no grant holds, and says that there is more to it', () => {
  const asked = askRules(RULES, JSON.stringify({ spec: { namespace: 'shop' } }));
  expect(asked.groups).toEqual(['fairlead:admin', 'fairlead:edit', 'fairlead:view']);
  expect(askRules(RULES, JSON.stringify({ spec: { namespace: 'default' } })).groups).toEqual(['fairlead:admin']);
  const rule = (verbs: string[], apiGroups: string[], resources: string[]) => ({ verbs, apiGroups, resources });
  const url = (verbs: string[], nonResourceURLs: string[]) => ({ verbs, nonResourceURLs });
  const answer = {
    kind: 'SelfSubjectRulesReview',
    status: {
      resourceRules: [rule(['*'], [''], ['configmaps', 'secrets']), rule(['create'], ['apps'], ['deployments'])],
      nonResourceRules: [url(['get'], ['/api', '/metrics', '/logs']), url(['*'], ['*'])],
      incomplete: false,
    },
  };
  const edits = [RULES[1]!, RULES[2]!];
  expect(JSON.parse(narrowRules(edits, 'shop', JSON.stringify(answer)))).toEqual({
    kind: 'SelfSubjectRulesReview',
    status: {
      resourceRules: [rule(['get', 'update'], [''], ['configmaps'])],
      nonResourceRules: [url(['get'], ['/api']), url(['get'], ['/metrics']), url(['*'], ['/metrics'])],
      incomplete: true,
      evaluationError: expect.stringContaining('narrowed') as string,
    },
  });
  const whole = JSON.stringify(answer);
  expect(narrowRules([allow('fairlead:view')], 'shop', whole)).toBe(whole);
  const denied = [allow('fairlead:view'), allow('x', { resources: ['secrets'] }, { effect: 'deny' })];
  expect(JSON.parse(narrowRules(denied, 'shop', whole))).toMatchObject({ status: { incomplete: true } });
});
