import { randomUUID } from 'node:crypto';
import {
  grantsKeys,
  type AccessEntry,
  type ClusterEntry,
  type GrantEntry,
  type LoginSessionEntry,
  type Subject,
} from '@fairlead/contracts';
import type { ErrorCode } from '@fairlead/errors';
import { beforeEach, describe, expect, it } from 'vitest';
import { AccessIndex } from '../../access/access-index.js';
import { GrantsIndex } from '../../access/grants-index.js';
import { isFresh } from '../../directory.js';
import type { Grounds } from '../../passage/outcome.js';
import { authenticate, decideAdmission, hasLapsed, whyShutOut, type Admission, type Deciding } from './admission.js';

const T0 = Date.parse('2026-01-01T00:00:00Z');
const HOUR_MS = 3_600_000;
const iso = (ms: number): string => new Date(T0 + ms).toISOString();
const SESSION = randomUUID();
const ALICE: Subject = { kind: 'user', name: 'corp:alice' };

let nowMs: number;
let grants: GrantsIndex;
let cluster: ClusterEntry;
let access: AccessIndex;

/** What a replica knows, without where it knows it from. */
const known: Deciding = {
  loaded: true,
  get fresh() {
    return isFresh(T0, nowMs);
  },
  get grants() {
    return grants;
  },
  principalOf: (token, now) => access.principalOf(token, now),
  stillOf: (who, now) => access.stillOf(who, now),
  hasEnded: (who, now) => access.hasEnded(who, now),
  clusterByName: (name) => (name === cluster.name ? cluster : undefined),
  clusterById: () => cluster,
};

beforeEach(() => {
  nowMs = T0;
  grants = new GrantsIndex();
  cluster = { tenantId: 't', clusterId: randomUUID(), name: 'shop', generation: 1, labels: { stage: 'test' } };
  access = new AccessIndex();
  token('alice', 'login', 'corp:alice');
  token('admin', 'administrator', 'admin', ['fairlead:admins']);
});

function token(secret: string, kind: AccessEntry['kind'], user: string, groups: string[] = []): AccessEntry {
  const entry = { tenantId: 't', tokenId: randomUUID(), tokenHash: secret, kind, user, groups, subjectGroups: [] };
  const standing = { ...entry, expiresAt: null };
  access.set(secret, standing);
  return standing;
}

function put(...given: (Partial<GrantEntry['rule']> & Partial<GrantEntry>)[]): string[] {
  const entries = given.map(({ clusters = { all: true }, notBefore = null, expiresAt = null, ...rule }): GrantEntry => {
    const whole: GrantEntry['rule'] = {
      grantId: randomUUID(),
      effect: 'allow',
      groups: ['fairlead:view'],
      narrowing: {},
      ...rule,
    };
    return { rule: whole, clusters, notBefore, expiresAt };
  });
  const key = grantsKeys.subject('t', ALICE);
  grants.set(
    key,
    entries.length === 0 ? undefined : { kind: 'subject', tenantId: 't', subject: ALICE, grants: entries },
  );
  return entries.map(({ rule }) => rule.grantId);
}

interface Asking {
  readonly as?: string;
  readonly method?: string;
  readonly target?: string;
  readonly name?: string;
  readonly headers?: readonly string[];
  readonly onDecided?: (grounds: Grounds) => void;
}

const PODS = '/api/v1/namespaces/web/pods';
function ask({
  as = 'alice',
  method = 'GET',
  target = PODS,
  name = 'shop',
  headers = [],
  onDecided,
}: Asking = {}): Admission {
  const principal = authenticate(known, ['Authorization', `Bearer ${as}`], nowMs);
  const address = { cluster: name, below: '', target };
  return decideAdmission(known, principal, { method, address, rawHeaders: headers }, nowMs, onDecided);
}
const refused = (code: ErrorCode, says: RegExp = /./): unknown =>
  expect.objectContaining({ code, message: expect.stringMatching(says) as string });

describe('who may', () => {
  it('the administrator, without a grant, in a lockdown, and with groups of its own', () => {
    grants.set(grantsKeys.lockdown('t', null), { kind: 'lockdown', tenantId: 't', clusterId: null, reason: 'x' });
    expect(ask({ as: 'admin' })).toMatchObject({ identity: { user: 'admin', groups: ['fairlead:admins'] } });
    expect(() => ask({ as: 'admin', headers: ['Impersonate-User', 'bob'] })).toThrow(refused('FORBIDDEN'));
  });

  it('somebody by a grant, with the groups of what holds the request alone', () => {
    const [view] = put(
      { narrowing: { verbs: ['get', 'list'] } },
      { groups: ['dev'], narrowing: { namespaces: ['x'] } },
    );
    const told: Grounds[] = [];
    const admission = ask({ onDecided: (grounds) => void told.push(grounds) });
    expect(admission.identity).toEqual({ user: 'corp:alice', groups: ['fairlead:view'], extra: [] });
    expect(told).toEqual([{ grantIds: [view], as: undefined }]);
  });

  it('nobody else: they are told as of a cluster that is not there', () => {
    const message = (run: () => unknown): string => {
      try {
        run();
        return 'let in';
      } catch (error) {
        return (error as Error).message;
      }
    };
    const told = message(() => ask());
    expect(told).toContain('there is no cluster "shop"');
    put({ effect: 'deny', groups: [] });
    expect(message(() => ask())).toBe(told);
    put({ clusters: { selector: 'stage=production' } });
    expect(message(() => ask())).toBe(told);
    // Not even by what is wrong with the request.
    expect(message(() => ask({ target: '//api/v1/pods' }))).toBe(told);
    expect(message(() => ask({ name: 'none' }))).toBe(told.replace('shop', 'none'));
  });

  it('what is not granted is named, with the next step; what is denied has its grant', () => {
    put({ narrowing: { verbs: ['get'] } });
    expect(() => ask({ method: 'DELETE', target: `${PODS}/db-0` })).toThrow(
      refused(
        'FORBIDDEN',
        /^the user "corp:alice" may not delete pods in the namespace "web" in the cluster "shop": .*fairlead access request/,
      ),
    );
    const [, denial] = put({}, { effect: 'deny', groups: [], narrowing: { resources: ['secrets'] } });
    const told: Grounds[] = [];
    const secrets = { target: '/api/v1/secrets', onDecided: (grounds: Grounds) => void told.push(grounds) };
    expect(() => ask(secrets)).toThrow(refused('FORBIDDEN', /may not list secrets in the cluster.*denies/));
    expect(told).toEqual([{ grantIds: [denial], as: undefined }]);
    expect(() => ask({ target: `${PODS}?watch=0&watch=1` })).toThrow(refused('INVALID_ARGUMENT'));
  });

  it('nobody of them while all is locked down', () => {
    put({});
    const key = grantsKeys.lockdown('t', cluster.clusterId);
    grants.set(key, { kind: 'lockdown', tenantId: 't', clusterId: cluster.clusterId, reason: 'an incident' });
    expect(() => ask()).toThrow(refused('FORBIDDEN', /"shop" is locked down: an incident/));
  });

  it('nobody but the administrator once what is known is an hour old', () => {
    put({});
    nowMs = T0 + HOUR_MS - 1;
    expect(ask().identity.user).toBe('corp:alice');
    nowMs = T0 + HOUR_MS;
    expect(() => ask()).toThrow(refused('UNAVAILABLE', /nobody but the administrator/));
    expect(() => ask({ as: 'nobody' })).toThrow(refused('UNAUTHENTICATED'));
    expect(ask({ as: 'admin' }).identity.user).toBe('admin');
  });
});

describe('kubectl --as', () => {
  beforeEach(() => void put({ impersonate: { users: ['bob'], groups: ['dev'] } }));

  it('goes on as who is asked for, with nothing of who asks', () => {
    const told: Grounds[] = [];
    const headers = ['Impersonate-User', 'bob', 'impersonate-group', 'dev'];
    const { identity } = ask({ headers, onDecided: (grounds) => void told.push(grounds) });
    expect(identity).toEqual({ user: 'bob', groups: ['dev'], extra: [] });
    expect(told).toMatchObject([{ as: 'bob', asGroups: ['dev'] }]);
    // Tools look around first.
    expect(ask({ headers, target: '/api' }).identity.user).toBe('bob');
  });

  it.each([
    [['Impersonate-User', 'eve'], /"eve"/],
    [['Impersonate-User', 'bob', 'Impersonate-Group', 'ops'], /"ops"/],
    [['Impersonate-User', 'bob', 'Impersonate-Group', 'system:masters'], /nobody may act as "system:masters"/],
    [['Impersonate-User', 'bob', 'Impersonate-Group', 'fairlead:admin'], /nobody may act as "fairlead:admin"/],
    [['Impersonate-User', 'bob', 'Impersonate-User', 'bob'], /more than one/],
    [['Impersonate-User', 'bob', 'Impersonate-Uid', '1'], /only a user and groups/],
    [['Impersonate-User', 'bob', 'Impersonate-Extra-Scopes', 'x'], /only a user and groups/],
    [['Impersonate-Group', 'dev'], /no user/],
  ])('refuses %j', (headers, says) => {
    expect(() => ask({ headers })).toThrow(refused('FORBIDDEN', says));
  });

  it('is within the narrowing still', () => {
    put({ narrowing: { verbs: ['get'] }, impersonate: { users: ['*'] } });
    expect(() => ask({ headers: ['Impersonate-User', 'bob'] })).toThrow(refused('FORBIDDEN', /may not list pods/));
  });
});

describe('what goes on', () => {
  const shutOut = (admission: Admission): [string | undefined, boolean] => [
    whyShutOut(known, admission, nowMs)?.code,
    hasLapsed(known, admission, nowMs),
  ];

  it('ends when its grant does: by the clock for certain, else if it is gone, narrowed or denied', () => {
    put({ expiresAt: iso(1_000) });
    const admission = ask();
    expect(shutOut(admission)).toEqual([undefined, false]);
    nowMs = T0 + 1_000;
    expect(shutOut(admission)).toEqual(['FORBIDDEN', true]);
    put({});
    expect(shutOut(admission)).toEqual([undefined, false]);
    put();
    expect(shutOut(admission)).toEqual(['FORBIDDEN', false]);
    put({ narrowing: { verbs: ['get'] } });
    expect(shutOut(admission)).toEqual(['FORBIDDEN', false]);
    put({}, { effect: 'deny', groups: [] });
    expect(shutOut(admission)).toEqual(['FORBIDDEN', false]);
    put({}, { effect: 'deny', groups: [], notBefore: iso(500) });
    expect(shutOut(admission)).toEqual(['FORBIDDEN', true]);
  });

  it('ends when it was sent with a group that is theirs no more, though they may still ask', () => {
    put({ groups: ['fairlead:admin'], expiresAt: iso(1_000) }, {});
    const admission = ask();
    expect(admission.identity.groups).toEqual(['fairlead:admin', 'fairlead:view']);
    nowMs = T0 + 1_000;
    expect(shutOut(admission)).toEqual(['FORBIDDEN', true]);
    put({ groups: ['fairlead:admin', 'more'] }, {});
    expect(shutOut(admission)).toEqual([undefined, false]);
  });

  it('ends when the labels of the cluster do not mean it any more, and in a lockdown', () => {
    put({ clusters: { selector: 'stage=test' } });
    const admission = ask();
    cluster = { ...cluster, labels: {} };
    expect(shutOut(admission)).toEqual(['FORBIDDEN', false]);
    cluster = { ...cluster, labels: { stage: 'test' } };
    expect(shutOut(admission)).toEqual([undefined, false]);
    grants.set(grantsKeys.lockdown('t', null), { kind: 'lockdown', tenantId: 't', clusterId: null, reason: 'x' });
    expect(shutOut(admission)).toEqual(['FORBIDDEN', false]);
  });

  it('ends when its token does, or may not act as somebody any more', () => {
    put({ impersonate: { users: ['bob'] } });
    const admission = ask({ headers: ['Impersonate-User', 'bob'] });
    expect(shutOut(admission)).toEqual([undefined, false]);
    put({ impersonate: { users: ['eve'] } });
    expect(shutOut(admission)).toEqual(['FORBIDDEN', false]);
    access.set('alice', { ...admission.principal, expiresAt: iso(0) });
    expect(shutOut(admission)).toEqual(['UNAUTHENTICATED', true]);
    access.set('alice', undefined);
    expect(shutOut(admission)).toEqual(['UNAUTHENTICATED', false]);
    access.set('alice', { ...admission.principal, user: 'corp:eve' });
    expect(shutOut(admission)).toEqual(['UNAUTHENTICATED', false]);
  });
});

describe('what somebody who logged in began', () => {
  const DAYS_MS = 7 * 24 * HOUR_MS;
  const session = (over: Partial<LoginSessionEntry> = {}): LoginSessionEntry => ({
    tenantId: 't',
    sessionId: SESSION,
    user: 'corp:alice',
    subjectGroups: [],
    endsAt: iso(DAYS_MS),
    ...over,
  });
  const shutOut = (admission: Admission): [string | undefined, boolean] => [
    whyShutOut(known, admission, nowMs)?.code,
    hasLapsed(known, admission, nowMs),
  ];
  /** Let in by a token of half an hour, which has ended since. */
  const begun = (subjectGroups: string[] = []): Admission => {
    const entry = { ...token('alice', 'login', 'corp:alice'), subjectGroups, expiresAt: iso(HOUR_MS / 2) };
    access.set('alice', { ...entry, sessionId: SESSION });
    const admission = ask();
    nowMs = T0 + HOUR_MS / 2;
    return admission;
  };

  it('goes on after its token, whether or not that is known still, while the session does; a request does not', () => {
    put({});
    access.set('session', session());
    const admission = begun();
    expect(shutOut(admission)).toEqual([undefined, false]);
    expect(() => ask()).toThrow(refused('UNAUTHENTICATED'));
    access.set('alice', undefined);
    expect(shutOut(admission)).toEqual([undefined, false]);
    expect(() => ask()).toThrow(refused('UNAUTHENTICATED'));
    expect(() => ask({ as: SESSION })).toThrow(refused('UNAUTHENTICATED'));
  });

  it('ends when the session was ended, and by the clock when its time has come', () => {
    put({});
    access.set('session', session({ endsAt: iso(HOUR_MS) }));
    const admission = begun();
    access.set('alice', undefined);
    nowMs = T0 + HOUR_MS - 1;
    expect(shutOut(admission)).toEqual([undefined, false]);
    nowMs = T0 + HOUR_MS;
    expect(shutOut(admission)).toEqual(['UNAUTHENTICATED', true]);
    access.set('session', session());
    expect(shutOut(admission)).toEqual([undefined, false]);
    access.set('session', undefined);
    expect(shutOut(admission)).toEqual(['UNAUTHENTICATED', false]);
  });

  it('ends twelve hours after it began, by the clock, however long the session is', () => {
    put({});
    access.set('session', session());
    const admission = begun();
    nowMs = T0 + 12 * HOUR_MS - 1;
    expect(shutOut(admission)).toEqual([undefined, false]);
    nowMs = T0 + 12 * HOUR_MS;
    expect(shutOut(admission)).toEqual(['UNAUTHENTICATED', true]);
    access.set('alice', undefined);
    expect(shutOut(admission)).toEqual(['UNAUTHENTICATED', true]);
  });

  it('ends when a renewal brought other groups, by which nothing is granted; when its grant lapses; in a lockdown', () => {
    const group: Subject = { kind: 'group', name: 'corp:ops' };
    const rule = { grantId: randomUUID(), effect: 'allow' as const, groups: ['fairlead:view'], narrowing: {} };
    const granted = { rule, clusters: { all: true }, notBefore: null, expiresAt: iso(2 * HOUR_MS) } as const;
    grants.set(grantsKeys.subject('t', group), { kind: 'subject', tenantId: 't', subject: group, grants: [granted] });
    access.set('session', session({ subjectGroups: ['corp:ops'] }));
    const admission = begun(['corp:ops']);
    expect(shutOut(admission)).toEqual([undefined, false]);
    access.set('session', session({ subjectGroups: ['corp:dev'] }));
    expect(shutOut(admission)).toEqual(['FORBIDDEN', false]);
    access.set('session', session({ subjectGroups: ['corp:ops'] }));
    expect(shutOut(admission)).toEqual([undefined, false]);
    nowMs = T0 + 2 * HOUR_MS;
    expect(shutOut(admission)).toEqual(['FORBIDDEN', true]);
    nowMs -= 1;
    grants.set(grantsKeys.lockdown('t', null), { kind: 'lockdown', tenantId: 't', clusterId: null, reason: 'x' });
    expect(shutOut(admission)).toEqual(['FORBIDDEN', false]);
  });

  it('is not carried by another session, by one of somebody else, or of another tenant', () => {
    put({});
    const admission = begun();
    expect(shutOut(admission)).toEqual(['UNAUTHENTICATED', true]);
    for (const over of [{ sessionId: randomUUID() }, { user: 'corp:eve' }, { tenantId: 'other' }]) {
      access.set('session', session(over));
      expect(whyShutOut(known, admission, nowMs)?.code).toBe('UNAUTHENTICATED');
    }
  });

  it('goes on while its token is good, also where nothing is known of a session', () => {
    put({});
    const admission = begun();
    nowMs = T0 + HOUR_MS / 2 - 1;
    expect(shutOut(admission)).toEqual([undefined, false]);
  });

  it('ends with its token where that is a program’s, which has no session', () => {
    put({});
    access.set('session', session());
    const ci = { ...token('ci', 'token', 'token:ci'), expiresAt: iso(HOUR_MS / 2) };
    access.set('ci', ci);
    expect(shutOut({ ...begun(), principal: ci })).toEqual(['UNAUTHENTICATED', true]);
  });
});
