import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileRules, decide, everyGroup, rulesBehind, type Decision } from './decide.js';
import { isForEverybody } from './for-everybody.js';
import { whyNotAs } from './impersonation.js';
import { holds } from './narrowing.js';
import { readAttributes } from './read-attributes.js';
import type { RequestAttributes } from './request-attributes.js';
import { Narrowing, type AccessRule } from './rule.js';

let made = 0;
function rule(narrowing: Narrowing = {}, given: Partial<AccessRule> = {}): AccessRule {
  made += 1;
  const grantId = `00000000-0000-4000-8000-${String(made).padStart(12, '0')}`;
  return { grantId, effect: 'allow', groups: ['fairlead:view'], narrowing: Narrowing.parse(narrowing), ...given };
}
const deny = (narrowing: Narrowing = {}): AccessRule => rule(narrowing, { effect: 'deny', groups: [] });

function ask(rules: readonly AccessRule[], method: string, target: string): Decision {
  return decide(compileRules(rules), readAttributes(method, target));
}

const SHOP = '/api/v1/namespaces/shop';
const READ = ['get', 'list', 'watch'];

describe('a narrowing', () => {
  it.each<[Narrowing, string, string, boolean]>([
    [{}, 'DELETE', `${SHOP}/pods/web`, true],
    [{ verbs: READ }, 'GET', `${SHOP}/pods`, true],
    [{ verbs: READ }, 'GET', `${SHOP}/pods/web/log`, true],
    [{ verbs: READ }, 'DELETE', `${SHOP}/pods`, false],
    [{ verbs: ['delete'] }, 'DELETE', `${SHOP}/pods`, false],
    [{ verbs: READ }, 'GET', `${SHOP}/pods/web/exec`, false],
    [{ verbs: READ }, 'GET', `${SHOP}/pods/web/attach`, false],
    [{ verbs: READ }, 'GET', `${SHOP}/pods/web/portforward`, false],
    [{ verbs: READ }, 'GET', `${SHOP}/services/web/proxy/`, false],
    [{ verbs: READ }, 'GET', '/api/v1/nodes/n1/proxy/metrics', false],
    [{ verbs: [...READ, 'proxy'] }, 'GET', '/api/v1/proxy/nodes/n1', false],
    [
      { verbs: READ },
      'GET',
      '/apis/subresources.kubevirt.io/v1/namespaces/shop/virtualmachineinstances/v/console',
      false,
    ],
    [
      { verbs: READ },
      'GET',
      '/apis/subresources.kubevirt.io/v1/namespaces/shop/virtualmachineinstances/v/usbredir',
      false,
    ],
    [{ verbs: ['create'] }, 'GET', `${SHOP}/pods/web/exec`, false],
    [{ verbs: ['get', 'create'] }, 'GET', `${SHOP}/pods/web/exec`, true],
    [{ verbs: ['create'] }, 'POST', `${SHOP}/pods/web/exec`, true],
    [{ verbs: ['*'] }, 'GET', `${SHOP}/pods/web/exec`, true],
    [{ namespaces: ['shop'] }, 'GET', `${SHOP}/pods`, true],
    [{ namespaces: ['shop'] }, 'GET', SHOP, true],
    [{ namespaces: ['shop'] }, 'GET', '/api/v1/pods', false],
    [{ namespaces: ['shop'] }, 'GET', '/api/v1/nodes/n1', false],
    [{ namespaces: ['shop'] }, 'GET', '/metrics', false],
    [{ namespaces: ['*'] }, 'GET', '/api/v1/pods', true],
    [{ apiGroups: [''] }, 'GET', `${SHOP}/pods`, true],
    [{ apiGroups: [''] }, 'GET', '/apis/apps/v1/deployments', false],
    [{ resources: ['pods'] }, 'GET', `${SHOP}/pods/web/log`, false],
    [{ resources: ['pods/log'] }, 'GET', `${SHOP}/pods/web/log`, true],
    [{ resources: ['*/log'] }, 'GET', `${SHOP}/pods/web/log`, true],
    [{ resources: ['*/log'] }, 'GET', `${SHOP}/pods`, false],
    [{ resources: ['*'] }, 'GET', `${SHOP}/pods/web/log`, true],
    [{ resources: ['*'] }, 'GET', '/metrics', false],
    [{ names: ['web'] }, 'GET', `${SHOP}/pods/web`, true],
    [{ names: ['web'] }, 'GET', `${SHOP}/pods/db`, false],
    [{ names: ['web'] }, 'GET', `${SHOP}/services/https:web:443/proxy/`, false],
    [{ names: ['web'] }, 'GET', `${SHOP}/pods`, false],
    [{ names: ['web'] }, 'POST', `${SHOP}/pods`, false],
    [{ names: ['web'] }, 'GET', `${SHOP}/pods?watch=1&fieldSelector=metadata.name%3Dweb`, true],
    [{ verbs: ['get'] }, 'GET', '/metrics', true],
    [{ nonResourceUrls: ['/metrics'] }, 'GET', '/metrics', true],
    [{ nonResourceUrls: ['/metrics'] }, 'GET', '/metrics/slis', false],
    [{ nonResourceUrls: ['/metrics/*'] }, 'GET', '/metrics/slis', true],
    [{ nonResourceUrls: ['/metrics/*'] }, 'GET', '/metrics', false],
    [{ nonResourceUrls: ['*'] }, 'GET', '/debug/pprof', true],
    [{ nonResourceUrls: ['*'] }, 'GET', `${SHOP}/pods`, false],
    [{ nonResourceUrls: ['*'], resources: ['pods'] }, 'GET', `${SHOP}/pods`, true],
  ])('%j, %s %s: %s', (narrowing, method, target, expected) => {
    expect(holds(Narrowing.parse(narrowing), readAttributes(method, target))).toBe(expected);
    expect(ask([rule(narrowing)], method, target).allowed).toBe(expected);
  });

  it.each<[Narrowing]>([
    [{ resources: ['pods/*'] }],
    [{ resources: ['Pods'] }],
    [{ verbs: ['GET'] }],
    [{ namespaces: ['shop-*'] }],
    [{ names: ['web-*'] }],
    [{ nonResourceUrls: ['metrics'] }],
    [{ nonResourceUrls: ['/a*/b'] }],
    [{ verbs: [] }],
  ])('is refused if it could never hold what it seems to: %j', (narrowing) => {
    expect(Narrowing.safeParse(narrowing).success).toBe(false);
  });
});

const APPLIED = ['application/apply-patch+yaml'];
const ROLE = '/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles/r';

// RBAC is asked for `create` where the object is not there, by groups that know nothing of a narrowing.
it.each<[Narrowing, string, string, readonly string[], boolean, boolean]>([
  // Narrowing, method, target, content types; does a grant hold it, does a denial reach it.
  [{ verbs: ['patch'] }, 'PATCH', `${SHOP}/pods/web`, APPLIED, false, true],
  [
    { verbs: ['patch'] },
    'PATCH',
    `${SHOP}/pods/web`,
    ['application/json', 'Application/Apply-Patch+CBOR; x=y'],
    false,
    true,
  ],
  [{ verbs: ['patch', 'create'] }, 'PATCH', `${SHOP}/pods/web`, APPLIED, true, true],
  [{ verbs: ['create'] }, 'PATCH', `${SHOP}/pods/web`, APPLIED, false, true],
  [{ verbs: ['create'] }, 'PATCH', `${SHOP}/pods/web/status`, APPLIED, false, false],
  [{ verbs: ['patch'] }, 'PATCH', `${SHOP}/pods/web/status`, APPLIED, true, true],
  [{ verbs: ['patch'] }, 'PATCH', `${SHOP}/pods/web`, ['application/merge-patch+json'], true, true],
  [{ verbs: ['create'] }, 'PATCH', `${SHOP}/pods/web`, ['application/merge-patch+json'], false, false],
  [{ verbs: ['update'] }, 'PUT', ROLE, ['application/json'], true, true],
  [{ verbs: ['create'] }, 'PUT', ROLE, ['application/json'], false, true],
  [{ verbs: ['create'] }, 'PUT', `${SHOP}/services/web`, [], false, true],
  [{ verbs: ['create'] }, 'PUT', `${SHOP}/configmaps/web`, [], false, false],
])('what may make an object counts as create, too: %j, %s %s %j', (narrowing, method, target, types, held, denied) => {
  const attributes = readAttributes(method, target, types);
  expect(holds(Narrowing.parse(narrowing), attributes)).toBe(held);
  expect(decide(compileRules([rule(), deny(narrowing)]), attributes).cause === 'denied').toBe(denied);
});

describe('a denial', () => {
  it.each<[Narrowing, string, string, boolean]>([
    [{}, 'GET', '/api', true],
    [{ namespaces: ['kube-system'] }, 'GET', '/api', false],
    [{ namespaces: ['kube-system'] }, 'GET', '/api/v1/namespaces/kube-system/secrets/x', true],
    [{ namespaces: ['kube-system'] }, 'GET', `${SHOP}/secrets`, false],
    // All namespaces are that one too; a node is in none.
    [{ namespaces: ['kube-system'] }, 'GET', '/api/v1/secrets', true],
    [{ namespaces: ['kube-system'] }, 'GET', '/api/v1/secrets?watch=1', true],
    [{ namespaces: ['kube-system'] }, 'GET', '/api/v1/nodes', false],
    [{ namespaces: ['kube-system'] }, 'GET', '/api/v1/nodes/n1', false],
    [{ names: ['root'] }, 'GET', `${SHOP}/secrets/root`, true],
    [{ names: ['root'] }, 'GET', `${SHOP}/secrets`, true],
    [{ names: ['root'] }, 'DELETE', `${SHOP}/secrets`, true],
    [{ names: ['root'] }, 'GET', `${SHOP}/secrets?fieldSelector=metadata.name%3Dother`, false],
    // A proxy takes a scheme and a port with the name of what it leads to.
    [{ names: ['root'] }, 'GET', `${SHOP}/services/root/proxy/`, true],
    [{ names: ['root'] }, 'GET', `${SHOP}/services/root:8080/proxy/`, true],
    [{ names: ['root'] }, 'GET', `${SHOP}/services/https:root:/proxy/`, true],
    [{ names: ['root'] }, 'GET', `${SHOP}/pods/http:root:8080/proxy/`, true],
    [{ names: ['n1'] }, 'GET', '/api/v1/nodes/https:n1:10250/proxy/', true],
    [{ names: ['root'] }, 'GET', `${SHOP}/services/https:other:443/proxy/`, false],
    [{ names: ['root'] }, 'GET', '/apis/rbac.authorization.k8s.io/v1/clusterroles/system:root', false],
    [{ verbs: ['create'], resources: ['pods/exec'] }, 'GET', `${SHOP}/pods/web/exec`, true],
    [{ verbs: ['get'], resources: ['pods/exec'] }, 'POST', `${SHOP}/pods/web/exec`, false],
    [{ verbs: ['delete'] }, 'GET', `${SHOP}/pods/web`, false],
    [{ nonResourceUrls: ['/metrics'] }, 'GET', '/metrics', true],
    [{ nonResourceUrls: ['/metrics'] }, 'GET', `${SHOP}/pods`, false],
  ])('%j, %s %s: %s', (narrowing, method, target, expected) => {
    const { allowed, cause } = ask([rule(), deny(narrowing)], method, target);
    expect([allowed, cause === 'denied']).toEqual([!expected, expected]);
  });
});

describe('requests that tools begin with', () => {
  it.each([
    ['GET', '/api'],
    ['GET', '/apis/apps/v1'],
    ['GET', '/openapi/v3'],
    ['GET', '/version'],
    ['GET', '/readyz'],
    ['POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'],
    ['POST', '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews'],
    ['POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews'],
  ])('%s %s is for everybody with any grant, without its groups', (method, target) => {
    const narrow = rule({ namespaces: ['shop'] });
    expect(ask([narrow], method, target)).toMatchObject({
      allowed: true,
      cause: 'everybody',
      groups: [],
      grantIds: [],
    });
    expect(ask([], method, target)).toMatchObject({ allowed: false, cause: 'not-granted' });
    expect(ask([deny()], method, target)).toMatchObject({ allowed: false });
    expect(ask([rule({}, { groups: ['dev'] })], method, target)).toMatchObject({ cause: 'granted', groups: ['dev'] });
  });

  it('a review of oneself goes without the groups of what is narrowed, and without any where something is denied', () => {
    const review = ['POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'] as const;
    const [whole, narrow] = [rule({}, { groups: ['dev'] }), rule({ verbs: ['create'] }, { groups: ['ops'] })];
    expect(ask([whole, narrow], ...review).groups).toEqual(['dev']);
    expect(ask([whole, narrow, deny({ resources: ['secrets'] })], ...review)).toMatchObject({
      allowed: true,
      groups: [],
    });
    expect(everyGroup(compileRules([whole, narrow]))).toEqual(['dev', 'ops']);
  });

  it.each([
    ['GET', '/metrics'],
    ['POST', '/api'],
    ['POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews'],
    ['POST', `/apis/authorization.k8s.io/v1/namespaces/shop/localsubjectaccessreviews`],
  ])('%s %s is none', (method, target) => {
    expect(ask([rule({ namespaces: ['other'] })], method, target).allowed).toBe(false);
  });
});

it('joins the groups of the grants that hold a request, and of no other', () => {
  const [view, edit, more] = [
    rule({ verbs: READ }),
    rule({ namespaces: ['shop'] }, { groups: ['fairlead:edit', 'b', 'a'] }),
    rule({ namespaces: ['shop'] }, { groups: ['a'] }),
  ];
  const rules = [edit, view, more];
  expect(ask(rules, 'GET', `${SHOP}/pods`)).toMatchObject({
    groups: ['a', 'b', 'fairlead:edit', 'fairlead:view'],
    grantIds: [view.grantId, edit.grantId, more.grantId],
  });
  expect(ask(rules, 'GET', '/api/v1/pods').groups).toEqual(['fairlead:view']);
  expect(ask(rules, 'DELETE', '/api/v1/pods')).toMatchObject({ allowed: false, groups: [], grantIds: [] });
});

describe('acting as somebody else', () => {
  const pods = readAttributes('GET', `${SHOP}/pods`);
  const rules = [
    rule({ namespaces: ['shop'] }, { impersonate: { users: ['bob'], groups: ['dev'] } }),
    rule({ namespaces: ['other'] }, { impersonate: { users: ['*'], groups: ['*'] } }),
  ];
  const why = (user: string, groups: readonly string[], attributes: RequestAttributes = pods): string | null =>
    whyNotAs(rulesBehind(compileRules(rules), attributes), { user, groups });

  it('takes the words of the grants that hold the request', () => {
    expect(why('bob', [])).toBeNull();
    expect(why('bob', ['dev'])).toBeNull();
    expect(why('bob', ['dev', 'ops'])).toContain('"ops"');
    expect(why('eve', [])).toContain('"eve"');
    expect(why('eve', ['any'], readAttributes('GET', '/api/v1/namespaces/other/pods'))).toBeNull();
    expect(why('eve', ['any'], readAttributes('GET', '/api'))).toBeNull();
  });

  it.each([
    ['system:admin', []],
    ['bob', ['system:masters']],
    ['bob', ['fairlead:cluster-admin']],
    [' System:admin', []],
  ])('never as %s with %j', (user, groups) => {
    expect(why(user, groups, readAttributes('GET', '/api/v1/namespaces/other/pods'))).toContain('nobody may');
  });
});

const VERBS = ['get', 'list', 'watch', 'create', 'delete', 'deletecollection'];
const items = <T>(...from: T[]): fc.Arbitrary<T[] | undefined> =>
  fc.option(fc.uniqueArray(fc.constantFrom(...from), { minLength: 1 }), { nil: undefined });
const narrowings = fc
  .record({
    verbs: items(...VERBS, '*'),
    apiGroups: items('', 'apps', '*'),
    resources: items('pods', 'pods/exec', '*/log', '*'),
    namespaces: items('a', 'b', '*'),
    names: items('x', 'y'),
    nonResourceUrls: items('/metrics', '/debug/*', '*'),
  })
  .map((narrowing) => Narrowing.parse(narrowing));
const rulesOf = (effect: AccessRule['effect']): fc.Arbitrary<AccessRule[]> =>
  fc.array(
    fc
      .record({ narrowing: narrowings, groups: fc.subarray(['g1', 'g2', 'g3']) })
      .map((given) => rule(given.narrowing, { effect, groups: effect === 'deny' ? [] : given.groups })),
    { maxLength: 6 },
  );
const requests: fc.Arbitrary<RequestAttributes> = fc.oneof(
  fc.record({
    kind: fc.constant('resource' as const),
    verb: fc.constantFrom(...VERBS),
    apiGroup: fc.constantFrom('', 'apps'),
    resource: fc.constantFrom('pods', 'nodes', 'deployments'),
    subresource: fc.constantFrom('', 'exec', 'log'),
    namespace: fc.constantFrom('', 'a', 'b'),
    name: fc.constantFrom('', 'x', 'y'),
  }),
  fc.record({
    kind: fc.constant('url' as const),
    verb: fc.constantFrom('get', 'post'),
    path: fc.constantFrom('/api', '/metrics', '/debug/pprof', '/healthz'),
  }),
);
const decided = (rules: readonly AccessRule[], request: RequestAttributes): Decision =>
  decide(compileRules(rules), request);

describe('whatever the rules', () => {
  it('their order does not matter', () => {
    const shuffled = fc
      .tuple(rulesOf('allow'), rulesOf('deny'))
      .map(([allow, denied]) => [...allow, ...denied])
      .chain((rules) => fc.tuple(fc.constant(rules), fc.shuffledSubarray(rules, { minLength: rules.length })));
    fc.assert(
      fc.property(shuffled, requests, ([rules, other], request) => {
        expect(decided(other, request)).toEqual(decided(rules, request));
      }),
    );
  });

  it('a denial that holds a request wins, and none ever gives anything', () => {
    fc.assert(
      fc.property(rulesOf('allow'), rulesOf('deny'), requests, (allow, denied, request) => {
        const [without, withDenied] = [decided(allow, request), decided([...allow, ...denied], request)];
        expect(withDenied.allowed && !isForEverybody(request) ? withDenied : without).toEqual(without);
        expect(without.groups).toEqual(expect.arrayContaining([...withDenied.groups]));
        const isDenied = !isForEverybody(request) && denied.some(({ narrowing }) => holds(narrowing, request));
        expect(isDenied ? withDenied.cause : 'denied').toBe('denied');
      }),
    );
  });

  it('one more grant that allows never takes anything away', () => {
    fc.assert(
      fc.property(rulesOf('allow'), rulesOf('deny'), rulesOf('allow'), requests, (allow, denied, more, request) => {
        const [before, after] = [
          decided([...allow, ...denied], request),
          decided([...allow, ...denied, ...more], request),
        ];
        if (!before.allowed) return;
        expect(after.allowed).toBe(true);
        expect(after.groups).toEqual(expect.arrayContaining([...before.groups]));
      }),
    );
  });

  it('a narrowing with a word less never holds more, and none holds more than nothing said', () => {
    fc.assert(
      fc.property(narrowings, requests, fc.nat(), (narrowing, request, at) => {
        expect(holds({}, request)).toBe(true);
        const lists = Object.entries(narrowing).filter(([, list]) => list !== undefined && list.length > 1);
        const [key, list] = lists[at % Math.max(lists.length, 1)] ?? [];
        if (!key || !list) return;
        const less = { ...narrowing, [key]: list.slice(1) };
        expect([holds(less, request), holds(narrowing, request)]).not.toEqual([true, false]);
      }),
    );
  });

  it('what lies within one narrowing gives no group of another', () => {
    fc.assert(
      fc.property(rulesOf('allow'), requests, (allow, request) => {
        const { groups } = decided(allow, request);
        fc.pre(!isForEverybody(request));
        const holding = allow.filter(({ narrowing }) => holds(narrowing, request));
        expect(new Set(groups)).toEqual(new Set(holding.flatMap((each) => each.groups)));
      }),
    );
  });
});
