import { AccessStatement, lifeOf } from '@fairlead/access-statement';
import type { Grant, Principal } from '@fairlead/contracts';
import { expect, it } from 'vitest';
import { statementFor } from './statement.js';

const MINUTE_MS = 60_000;
const now = new Date('2026-11-26T10:00:00.000Z');
const at = (minutes: number): string => new Date(now.getTime() + minutes * MINUTE_MS).toISOString();
const cluster = { clusterId: crypto.randomUUID(), name: 'shop' };
const person: Principal = {
  tenantId: 'default',
  tokenId: crypto.randomUUID(),
  kind: 'login',
  user: 'corp:alice',
  groups: [],
  subjectGroups: [],
  administrator: false,
  auditor: false,
  expiresAt: at(120),
};
const grant = (change: Partial<Grant> = {}): Grant => ({
  id: crypto.randomUUID(),
  tenantId: 'default',
  subject: { kind: 'user', name: 'corp:alice' },
  effect: 'allow',
  clusters: { all: true },
  role: 'view',
  groups: [],
  narrowing: {},
  notBefore: null,
  expiresAt: null,
  reason: 'on call',
  createdBy: 'admin',
  createdAt: at(-60),
  requestId: null,
  ...change,
});
const stated = (grants: readonly Grant[], principal = person, seconds?: number): AccessStatement => {
  const statement = statementFor({ principal, cluster, grants, seconds, now });
  AccessStatement.parse(statement);
  lifeOf(statement);
  return statement;
};

it('says what is granted now, for as long as it is', () => {
  const view = grant();
  const denied = grant({ effect: 'deny', role: null, narrowing: { resources: ['secrets'] } });
  const statement = stated([view, denied, grant({ notBefore: at(5) }), grant({ expiresAt: at(-1) })]);
  expect(statement).toMatchObject({
    clusterId: cluster.clusterId,
    tokenId: person.tokenId,
    user: 'corp:alice',
    notBefore: at(0),
    openUntil: at(30),
    streamsUntil: at(720),
  });
  expect(statement.rules.map(({ grantId, effect, groups }) => [grantId, effect, groups])).toEqual([
    [view.id, 'allow', ['fairlead:view']],
    [denied.id, 'deny', []],
  ]);
});

it.each<[string, Partial<Grant>[], string, string]>([
  ['the first grant that ends', [{ expiresAt: at(20) }, { expiresAt: at(10) }], at(10), at(10)],
  ['a grant that ends later', [{ expiresAt: at(90) }], at(30), at(90)],
  ['a denial that begins', [{}, { effect: 'deny', role: null, notBefore: at(7) }], at(7), at(7)],
  ['no grant that begins later', [{}, { notBefore: at(7) }], at(30), at(720)],
  ['no grant of the admin API', [{}, { role: 'administrator', expiresAt: at(7) }], at(30), at(720)],
])('is bounded by %s', (_, grants, openUntil, streamsUntil) => {
  expect(stated(grants.map(grant))).toMatchObject({ openUntil, streamsUntil });
});

it('is bounded by the end of its token, and beside an API token lasts 90 days at most', () => {
  expect(stated([grant()], { ...person, expiresAt: at(3) }).openUntil).toBe(at(3));
  const token: Principal = { ...person, kind: 'token', user: 'token:ci', expiresAt: null };
  expect(stated([grant()], token)).toMatchObject({ openUntil: at(90 * 24 * 60), streamsUntil: at(90 * 24 * 60) });
  expect(stated([grant()], { ...token, expiresAt: at(60) }).streamsUntil).toBe(at(60));
});

it('lets the administrator in without a grant, for half an hour, or for as long as is said and 90 days', () => {
  const administrator: Principal = {
    ...person,
    kind: 'administrator',
    user: 'admin',
    groups: ['fairlead:admins'],
    expiresAt: null,
  };
  const statement = stated([], administrator);
  expect(statement.rules).toMatchObject([{ effect: 'allow', groups: ['fairlead:admins'], narrowing: {} }]);
  expect(statement).toMatchObject({ openUntil: at(30), streamsUntil: at(720) });
  expect(stated([], administrator, 8 * 3_600)).toMatchObject({ openUntil: at(480), streamsUntil: at(720) });
  const long = at(90 * 24 * 60);
  expect(stated([], administrator, 100 * 86_400)).toMatchObject({ openUntil: long, streamsUntil: long });
});

it('lasts for less than is usual if that is said, and for nobody who renews it by itself for more', () => {
  expect(stated([grant()], person, 60).openUntil).toBe(at(1));
  expect(stated([grant()], person, 7_200).openUntil).toBe(at(30));
  const token: Principal = { ...person, kind: 'token', user: 'token:ci', expiresAt: null };
  expect(stated([grant()], token, 3_600)).toMatchObject({ openUntil: at(60), streamsUntil: at(60) });
});

it('is not there for whoever has nothing, or too much', () => {
  const nothing = [
    [],
    [grant({ role: 'administrator' })],
    [grant({ effect: 'deny', role: null })],
    [grant({ expiresAt: at(-1) })],
  ];
  for (const grants of nothing) expect(() => stated(grants)).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }));
  const many = Array.from({ length: 65 }, () => grant());
  expect(() => stated(many)).toThrow(expect.objectContaining({ code: 'TOO_LARGE' }));
  const long = Array.from({ length: 30 }, (_, index) =>
    grant({ narrowing: { names: Array.from({ length: 20 }, () => `${'n'.repeat(100)}${index}`) } }),
  );
  expect(() => stated(long)).toThrow(expect.objectContaining({ code: 'TOO_LARGE' }));
});
