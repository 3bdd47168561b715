import { Grant, GrantsEntry, NewGrant, isApiRole, type ApiRole, type Subject } from '@fairlead/contracts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_GRANTS, checkNewGrant, checkSubjectFits, givesApiRole, keyOf, ruleOf, subjectEntry } from './grant.js';

const now = new Date('2026-05-01T12:00:00.000Z');
const later = '2026-05-02T12:00:00.000Z';
const ada: Subject = { kind: 'user', name: 'corp:ada' };

function newGrant(change: Partial<NewGrant> = {}): NewGrant {
  const base = { subject: ada, clusters: { all: true }, role: 'view', expiresAt: later, reason: 'on call' };
  return NewGrant.parse({ ...base, ...change });
}

function grant(change: Partial<Grant> = {}): Grant {
  const made = { id: crypto.randomUUID(), tenantId: 'default', createdBy: 'admin', createdAt: now.toISOString() };
  return Grant.parse({ ...newGrant(), ...made, requestId: null, ...change });
}

const ofClient: Partial<NewGrant> = { subject: { kind: 'client', name: 'prometheus' }, role: null };

describe('checkNewGrant', () => {
  it.each<[string, Partial<NewGrant>]>([
    ['a role', {}],
    ['no end', { expiresAt: null }],
    ['groups alone', { role: null, groups: ['team-a'] }],
    ['a begin in the future', { notBefore: '2026-05-02T11:59:59.999Z' }],
    ['a denial', { effect: 'deny', role: null }],
    ['a client and its targets', { ...ofClient, targets: ['10.0.0.0/8:9100', '*.shop.svc:443'] }],
    ['a denial to a client', { ...ofClient, effect: 'deny' }],
    ['a narrowed denial', { effect: 'deny', role: null, narrowing: { namespaces: ['vault'] } }],
    ['an administrator', { role: 'administrator' }],
    ['no administrator', { role: 'administrator', effect: 'deny' }],
    ['an auditor', { role: 'auditor' }],
    ['whom kubectl --as may name', { impersonate: { users: ['*'] } }],
  ])('takes %s', (_, change) => {
    expect(() => checkNewGrant(newGrant(change), now)).not.toThrow();
  });

  it.each<[string, Partial<NewGrant>]>([
    ['an end that has passed', { expiresAt: '2026-05-01T11:59:59.999Z' }],
    ['an end now', { expiresAt: now.toISOString() }],
    ['an end before its begin', { notBefore: later }],
    ['nothing', { role: null }],
    ['targets of a person', { targets: ['10.0.0.0/8:9100'] }],
    ['a client without targets', ofClient],
    ['a client with a role', { ...ofClient, role: 'view', targets: ['10.0.0.0/8:9100'] }],
    ['a client with a narrowing', { ...ofClient, targets: ['10.0.0.0/8:9100'], narrowing: { verbs: ['get'] } }],
    ['a target that is none', { ...ofClient, targets: ['10.0.0.1/8:9100'] }],
    ['a denial of some targets', { ...ofClient, effect: 'deny', targets: ['10.0.0.0/8:9100'] }],
    // Lists of revoked statements have no room for it, and one that cannot be made tells agents nothing.
    ['a name too long as a user', { subject: { kind: 'workload', name: 'w'.repeat(250) } }],
    ['an administrator of some clusters', { role: 'administrator', clusters: { names: ['a'] } }],
    ['a narrowed administrator', { role: 'administrator', narrowing: { verbs: ['get'] } }],
    ['an administrator with groups', { role: 'administrator', groups: ['team-a'] }],
    ['an auditor of some clusters', { role: 'auditor', clusters: { names: ['a'] } }],
    ['an auditor with groups', { role: 'auditor', groups: ['team-a'] }],
    ['an administrator who may name others', { role: 'administrator', impersonate: { users: ['*'] } }],
    ['a denial of a role', { effect: 'deny', role: 'edit' }],
    ['a denial of groups', { effect: 'deny', role: null, groups: ['team-a'] }],
    ['a denial that lets name others', { effect: 'deny', role: null, impersonate: { users: ['x'] } }],
  ])('refuses %s', (_, change) => {
    expect(() => checkNewGrant(newGrant(change), now)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });

  it('refuses what no event could hold', () => {
    const names = Array.from({ length: 64 }, (_, i) => `${i}`.padEnd(253, 'x'));
    const large = newGrant({ narrowing: { names, resources: names } });
    expect(() => checkNewGrant(large, now)).toThrow(expect.objectContaining({ code: 'TOO_LARGE' }));
  });
});

describe('ruleOf', () => {
  it('gives the group of the role and the others', () => {
    const { id, ...rest } = grant({ role: 'edit', groups: ['team-a'], narrowing: { verbs: ['get'] } });
    expect(ruleOf({ id, ...rest })).toEqual({
      grantId: id,
      effect: 'allow',
      groups: ['fairlead:edit', 'team-a'],
      narrowing: { verbs: ['get'] },
    });
  });

  it('gives a denial no groups, and roles of the admin API nothing', () => {
    expect(ruleOf(grant({ effect: 'deny', role: null }))).toMatchObject({ effect: 'deny', groups: [] });
    expect(ruleOf(grant({ role: 'administrator' }))).toBeNull();
    expect(ruleOf(grant({ role: 'auditor' }))).toBeNull();
  });
});

const anyGrant = fc
  .record({
    role: fc.constantFrom('view', 'edit', 'admin', 'cluster-admin', 'administrator', 'auditor'),
    effect: fc.constantFrom('allow', 'deny'),
    expiresAt: fc.constantFrom(null, later),
    notBefore: fc.constantFrom(null, now.toISOString()),
  })
  .map((change) => grant({ ...(change as Partial<Grant>), id: crypto.randomUUID() }));

describe('subjectEntry', () => {
  it('is the same for the same grants in any order, is as doors read it, and tells of no role of the admin API', () => {
    const shuffled = fc
      .array(anyGrant, { maxLength: 12 })
      .chain((grants) => fc.tuple(fc.constant(grants), fc.shuffledSubarray(grants, { minLength: grants.length })));
    fc.assert(
      fc.property(shuffled, ([grants, mixed]) => {
        const entry = subjectEntry('default', ada, grants);
        expect(JSON.stringify(subjectEntry('default', ada, mixed))).toBe(JSON.stringify(entry));
        const inClusters = grants.filter(({ role }) => !isApiRole(role));
        const read = entry && GrantsEntry.parse(entry);
        expect(read?.kind === 'subject' ? read.grants.length : 0).toBe(inClusters.length);
        expect(entry === null).toBe(inClusters.length === 0);
      }),
    );
  });
});

describe('checkSubjectFits', () => {
  it('takes as many as there may be, and no more', () => {
    const grants = Array.from({ length: MAX_GRANTS + 1 }, () => grant({ role: 'administrator' }));
    expect(() => checkSubjectFits('default', ada, grants.slice(1))).not.toThrow();
    expect(() => checkSubjectFits('default', ada, grants)).toThrow(expect.objectContaining({ code: 'TOO_LARGE' }));
  });

  it('takes no more than fits in an entry', () => {
    const namespaces = Array.from({ length: 60 }, (_, i) => `namespace-${i}`.padEnd(63, 'x'));
    const large = Array.from({ length: 20 }, () => grant({ narrowing: { namespaces } }));
    expect(() => checkSubjectFits('default', ada, large.slice(0, 10))).not.toThrow();
    expect(() => checkSubjectFits('default', ada, large)).toThrow(/bytes/);
  });
});

describe.each<[ApiRole, ApiRole]>([
  ['administrator', 'auditor'],
  ['auditor', 'administrator'],
])('%s', (role, other) => {
  const yes = grant({ role });
  const no = grant({ role, effect: 'deny' });
  it.each<[string, Grant[], boolean]>([
    ['nothing', [], false],
    ['a role in clusters', [grant({ role: 'cluster-admin' })], false],
    ['the other role of the admin API', [grant({ role: other })], false],
    ['a denial of the other', [yes, grant({ role: other, effect: 'deny' })], true],
    ['a denial of another kind', [yes, grant({ effect: 'deny', role: null })], true],
    ['a grant', [yes], true],
    ['a denial beside it', [yes, no], false],
    ['a denial alone', [no], false],
    ['one that has ended', [{ ...yes, expiresAt: now.toISOString() }], false],
    ['one that has not begun', [{ ...yes, notBefore: later, expiresAt: null }], false],
    ['a denial that has ended', [yes, { ...no, expiresAt: now.toISOString() }], true],
  ])('is who has %s', (_, grants, expected) => {
    expect(givesApiRole(role, grants, now)).toBe(expected);
  });
});

it('keeps tenants apart', () => {
  expect(keyOf(grant())).not.toBe(keyOf(grant({ tenantId: 'other' })));
});
