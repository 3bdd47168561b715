import { createHash, randomBytes } from 'node:crypto';
import { Issuer, LoginSessionEntry, type LoginSecrets } from '@fairlead/contracts';
import { silentLogger } from '@fairlead/observability';
import { newSigningKey, startTestIssuer, type TestIssuer } from '@fairlead/oidc/testing';
import { emptyTables } from '@fairlead/persistence/testing';
import { startZitadelOidc } from '@fairlead/testbed';
import { exportJWK } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hashOfSecret } from './domain/token-secret.js';
import { Issuers } from './feature/issuers.js';
import { loginCredentials } from './feature/login-credentials.js';
import { Logins, type ExchangeInput } from './feature/logins.js';
import { accessBucket } from './feature/projected-buckets.js';
import type { Runtime } from './feature/runtime.js';
import { StandingLogins, groupsOfLastLogin } from './feature/standing-logins.js';
import { follow, logInAt, logInByDevice, type AtIssuer, type Browse } from './testing/log-in-at.js';
import { LOGIN_LIVES, accessDatabase, lastEvents, type AccessDatabase } from './testing/access-fixture.js';
import { startRealProvider, type RealProvider } from './testing/real-provider.js';

const api = { role: 'api', credential: 'api' } as const;
const HOUR_MS = 3_600_000;

let db: AccessDatabase;
let runtime: Runtime;
let issuers: Issuers;
let logins: Logins;
let standing: StandingLogins;
let corp: TestIssuer;
let later = 0;

beforeAll(async () => {
  [db, corp] = await Promise.all([accessDatabase(), startTestIssuer()]);
  runtime = {
    database: db.database,
    source: { role: 'access', credential: 'access' },
    logger: silentLogger,
    onCommitted: () => {},
    now: () => new Date(Date.now() + later),
  };
});
afterAll(async () => {
  await corp[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
beforeEach(async () => {
  later = 0;
  await emptyTables(db.database, 'issuers', 'sessions', 'logins', 'spent_tokens', 'known_users');
  [issuers, logins, standing] = [new Issuers(runtime), new Logins(runtime, LOGIN_LIVES), new StandingLogins(runtime)];
});

const definition = (over: Record<string, unknown> = {}): Issuer =>
  Issuer.parse({ name: 'corp', kind: 'oidc', url: corp.url, audience: 'fairlead', prefix: 'corp:', ...over });
const put = (over: Record<string, unknown> = {}) => issuers.put(api, 'default', { by: 'admin' }, definition(over));
const exchange = (input: Omit<ExchangeInput, 'issuer'> & { issuer?: string }): Promise<LoginSecrets> =>
  logins.exchange(api, { issuer: 'corp', ...input });
const refusal = (input: Parameters<typeof exchange>[0]) =>
  exchange(input).then(
    () => 'taken',
    ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
  );
const whose = async ({ token }: { token: string }) => {
  const found = await loginCredentials.find(db.database.manager, hashOfSecret(token), runtime.now());
  return found && `${found.kind} ${found.user} ${found.subjectGroups.join(',')}`;
};
/** What doors are told of sessions, by key, and the sessions that its logins name. */
const toldToDoors = async () => {
  const rows = [...(await accessBucket([loginCredentials], runtime.now).rows(db.database.manager))];
  const sessions = rows
    .filter(([key]) => key.startsWith('default.session.'))
    .map(([key, entry]) => ({ key, ...entry }));
  const named = rows.flatMap(([, entry]) => ('tokenHash' in entry ? [entry.sessionId] : []));
  return { sessions, named };
};
const events = async (count: number) =>
  (await lastEvents(db.database, count)).map(({ type, data }) => {
    const { reason, user = '' } = data as { reason: string; user?: string };
    return `${type.replace('dev.fairlead.', '')} ${reason} ${user}`;
  });

/** An ID token and the secret behind its nonce. */
async function idToken(claims: Record<string, unknown> = {}): Promise<{ token: string; nonceVerifier: string }> {
  const nonceVerifier = randomBytes(32).toString('base64url');
  const nonce = createHash('sha256').update(nonceVerifier).digest('base64url');
  return { token: await corp.sign({ aud: 'fairlead', groups: ['ops'], nonce, ...claims }), nonceVerifier };
}
/** What the issuer gives for a refresh token: an ID token without a nonce. */
const refreshed = (claims: Record<string, unknown> = {}) =>
  corp.sign({ aud: 'fairlead', groups: ['ops'], jti: crypto.randomUUID(), ...claims });

describe('a first login', () => {
  it('gives a short token of the user with the issuer’s prefix, and is remembered', async () => {
    await put();
    const login = await exchange(await idToken());
    expect(login).toMatchObject({ user: 'corp:alice', session: expect.stringMatching(/^fairlead_/) });
    expect(Date.parse(login.expiresAt) - Date.now()).toBeGreaterThan(1_790_000);
    expect(Date.parse(login.expiresAt) - Date.now()).toBeLessThan(1_801_000);
    expect(await whose(login)).toBe('login corp:alice corp:ops');
    expect(await events(1)).toEqual(['login.succeeded.v1 OK corp:alice']);
    const { items } = await standing.users('default');
    expect(items).toMatchObject([{ name: 'corp:alice', kind: 'user', issuer: 'corp', groups: ['corp:ops'] }]);
    const groupsOf = (kind: 'user' | 'group') =>
      groupsOfLastLogin(db.database.manager, 'default', { kind, name: 'corp:alice' });
    expect([await groupsOf('user'), await groupsOf('group')]).toEqual([['corp:ops'], []]);
    later = 1_801_000;
    expect(await whose(login)).toBeNull();
  });

  it('needs the secret behind the nonce, and is made once by one ID token', async () => {
    await put();
    const { token, nonceVerifier } = await idToken();
    expect(await refusal({ token })).toContain('begun elsewhere');
    expect(await refusal({ token, nonceVerifier: 'w'.repeat(43) })).toContain('its nonce is not');
    const both = await Promise.all([refusal({ token, nonceVerifier }), refusal({ token, nonceVerifier })]);
    expect(both.toSorted()).toEqual([
      'UNAUTHENTICATED: the token is not taken: it was used for a login before',
      'taken',
    ]);
    expect(await refusal({ token, nonceVerifier })).toContain('used for a login before');
  });

  it('is not made again by the same ID token with its signature written in another way', async () => {
    await put();
    const { token, nonceVerifier } = await idToken();
    await exchange({ token, nonceVerifier });
    expect(await refusal({ token: otherSignature(token), nonceVerifier })).toContain('used for a login before');
  });

  it('by device code is made where the issuer allows it', async () => {
    await put();
    expect(await refusal({ token: await refreshed() })).toContain('device code');
    await put({ deviceCode: true });
    expect(await exchange({ token: await refreshed() })).toMatchObject({ user: 'corp:alice' });
    expect(await refusal({ token: (await idToken()).token })).toContain('begun elsewhere');
  });

  it('tells the unauthenticated apart from users in events, and none of what was in a token', async () => {
    await put({ requiredClaims: { hd: 'corp.example' } });
    expect(await refusal({ token: await corp.sign({ aud: 'else', hd: 'secret-hd' }) })).toContain('another audience');
    expect(await refusal(await idToken({ hd: 'secret-hd' }))).toContain('required claim hd');
    expect(await refusal({ issuer: 'nobody', token: 'x' })).toContain('no such issuer');
    expect(await events(3)).toEqual(Array.from({ length: 3 }, () => 'login.refused.v1 UNAUTHENTICATED null'));
    expect(JSON.stringify(await lastEvents(db.database, 3))).not.toMatch(/secret-hd|eyJ/);
  });

  it('is refused to one user who asks without end', async () => {
    await put();
    let answer = 'taken';
    let taken = 0;
    // A hundred at once, and one more every two seconds: a slow machine is let in a few times more.
    for (; answer === 'taken' && taken < 1_000; taken += 1)
      answer = await refusal(await idToken({ jti: `${taken}`, groups: [] }));
    expect(answer).toMatch(/^RATE_LIMITED/);
    expect(taken).toBeGreaterThan(100);
    const sessions = (await db.database.query('select count(*)::int as count from sessions')) as { count: number }[];
    expect(sessions[0]!.count).toBe(50);
  });
});

describe('a renewal', () => {
  it('goes on for the same user after the login has lapsed, until the session ends', async () => {
    await put();
    const first = await exchange(await idToken());
    const sessionHash = hashOfSecret(first.session!);
    later = 3 * HOUR_MS;
    const renewed = await exchange({ token: await refreshed(), sessionHash });
    expect(renewed).toMatchObject({ user: 'corp:alice', session: null, sessionEndsAt: first.sessionEndsAt });
    expect(await whose(renewed)).toBe('login corp:alice corp:ops');
    later = 7 * 86_400_000 - 60_000;
    const last = await exchange({ token: await refreshed(), sessionHash });
    expect(last.expiresAt).toBe(first.sessionEndsAt);
    later = 7 * 86_400_000 + 1_000;
    expect(await refusal({ token: await refreshed(), sessionHash })).toContain('session has ended');
  });

  it('is refused to anybody else, by the same token again, and with another nonce', async () => {
    await put();
    const first = await exchange(await idToken());
    const sessionHash = hashOfSecret(first.session!);
    const token = await refreshed();
    await exchange({ token, sessionHash });
    expect(await refusal({ token, sessionHash })).toContain('used for a login before');
    expect(await refusal({ token: await refreshed({ sub: 'mallory' }), sessionHash })).toContain('somebody else');
    expect(await refusal({ token: (await idToken()).token, sessionHash })).toContain('its nonce is not');
    expect(await refusal({ token: await refreshed(), sessionHash: hashOfSecret('made up') })).toContain(
      'session has ended',
    );
    expect(
      await refusal({ token: await refreshed({ iat: Math.floor(Date.now() / 1_000) - 700 }), sessionHash }),
    ).toContain('issued too long ago');
  });

  it('brings the groups of now to every login of the user, and an older token no older ones', async () => {
    await put();
    const first = await exchange(await idToken({ groups: ['ops', 'admins'] }));
    expect(await whose(first)).toBe('login corp:alice corp:admins,corp:ops');
    const sessionHash = hashOfSecret(first.session!);
    const old = await refreshed({ groups: ['admins'], iat: Math.floor(Date.now() / 1_000) - 60 });
    const renewed = await exchange({ token: await refreshed({ groups: ['ops'] }), sessionHash });
    expect(await whose(renewed)).toBe('login corp:alice corp:ops');
    expect(await whose(first)).toBe('login corp:alice corp:ops');
    expect(await whose(await exchange({ token: old, sessionHash }))).toBe('login corp:alice corp:ops');
  });
});

describe('a session at the doors', () => {
  it('is told to them, and named by its logins, to its end, with the groups of the newest token', async () => {
    await put();
    const first = await exchange(await idToken({ groups: ['ops', 'admins'] }));
    const begun = await toldToDoors();
    const { sessionId, ...told } = LoginSessionEntry.loose().parse(begun.sessions[0]);
    const whole = { tenantId: 'default', user: 'corp:alice', endsAt: first.sessionEndsAt };
    expect(told).toEqual({
      ...whole,
      key: `default.session.${sessionId}`,
      subjectGroups: ['corp:admins', 'corp:ops'],
    });
    expect([begun.sessions.length, begun.named]).toEqual([1, [sessionId]]);
    later = HOUR_MS;
    expect(await toldToDoors()).toEqual({ ...begun, named: [] });
    const sessionHash = hashOfSecret(first.session!);
    await exchange({ token: await refreshed({ groups: ['ops'] }), sessionHash });
    const renewed = await toldToDoors();
    expect(renewed).toMatchObject({
      sessions: [{ ...whole, sessionId, subjectGroups: ['corp:ops'] }],
      named: [sessionId],
    });
    later = 7 * 86_400_000 + 1_000;
    expect(await toldToDoors()).toEqual({ sessions: [], named: [] });
  });

  it('goes with its logout, and no other does; and with its issuer', async () => {
    await put();
    const [first, other] = [await exchange(await idToken()), await exchange(await idToken())];
    expect((await toldToDoors()).sessions).toHaveLength(2);
    await standing.end(api, { sessionHash: hashOfSecret(first.session!) });
    const left = await toldToDoors();
    expect(left.sessions).toMatchObject([{ endsAt: other.sessionEndsAt }]);
    expect(left.named).toHaveLength(1);
    await issuers.remove(api, 'default', { by: 'admin' }, 'corp');
    expect(await toldToDoors()).toEqual({ sessions: [], named: [] });
  });

  it('there is none of a program', async () => {
    await put({ kind: 'workload', audience: 'ci', requiredClaims: { org: 'octo' } });
    await exchange({ token: await corp.sign({ aud: 'ci', org: 'octo' }) });
    expect(await toldToDoors()).toEqual({ sessions: [], named: [undefined] });
  });
});

describe('the end of logins', () => {
  it('comes with a logout, for the session with all its tokens, and for no other', async () => {
    await put();
    const [first, other] = [await exchange(await idToken()), await exchange(await idToken())];
    const sessionHash = hashOfSecret(first.session!);
    const renewed = await exchange({ token: await refreshed(), sessionHash });
    const { tokenId } = (await loginCredentials.find(db.database.manager, hashOfSecret(renewed.token), runtime.now()))!;
    await standing.end(api, { tokenId });
    await standing.end(api, { tokenId });
    expect(await events(1)).toEqual(['login.ended.v1 OK corp:alice']);
    expect(await Promise.all([first, renewed, other].map(whose))).toEqual([null, null, 'login corp:alice corp:ops']);
    expect(await refusal({ token: await refreshed(), sessionHash })).toContain('session has ended');
    later = 2 * HOUR_MS;
    await standing.end(api, { sessionHash: hashOfSecret(other.session!) });
    expect(await refusal({ token: await refreshed(), sessionHash: hashOfSecret(other.session!) })).toContain('ended');
  });

  it('comes with the issuer’s removal, and with a change of whom it names, and of its keys', async () => {
    await put();
    for (const over of [{ userClaim: 'email' }, { audience: 'else' }, { jwks: { keys: [corp.keys[0]!.publicJwk] } }]) {
      const login = await exchange(await idToken());
      await put({ scopes: ['openid'] });
      expect(await whose(login)).toBe('login corp:alice corp:ops');
      await put(over);
      expect(await whose(login)).toBeNull();
      await put();
    }
    const login = await exchange(await idToken());
    await issuers.remove(api, 'default', { by: 'admin' }, 'corp');
    expect(await whose(login)).toBeNull();
    expect(await refusal(await idToken())).toContain('no such issuer');
    await expect(issuers.remove(api, 'default', { by: 'admin' }, 'corp')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const [removed] = await lastEvents(db.database, 2).then((all) => all.filter(({ type }) => type.includes('issuer')));
    expect(removed!.data).toMatchObject({ issuer: 'corp', ended: 1 });
  });

  it('comes also for a login that is being made while the issuer is removed', async () => {
    await put();
    const tokens = await Promise.all(Array.from({ length: 20 }, () => idToken()));
    const made = Promise.allSettled(tokens.map((token) => exchange(token)));
    await issuers.remove(api, 'default', { by: 'admin' }, 'corp');
    const taken = (await made).flatMap((login) => (login.status === 'fulfilled' ? [login.value] : []));
    expect(await Promise.all(taken.map(whose))).toEqual(taken.map(() => null));
  });

  it('leaves nothing in the tables when it has been swept', async () => {
    await put();
    await exchange(await idToken());
    const rows = async () => {
      const counts = 'select (select count(*) from logins) || $$ $$ || (select count(*) from sessions) || $$ $$ ||';
      const all = (await db.database.query(`${counts} (select count(*) from spent_tokens) as rows`)) as {
        rows: string;
      }[];
      return all[0]!.rows;
    };
    await standing.sweep();
    expect(await rows()).toBe('1 1 1');
    later = HOUR_MS;
    await standing.sweep();
    expect(await rows()).toBe('0 1 0');
    later = 8 * 86_400_000;
    await standing.sweep();
    expect(await rows()).toBe('0 0 0');
  });
});

describe('who was not seen for long', () => {
  const DAY_MS = 24 * HOUR_MS;
  const known = async () => (await standing.users('default')).items.map(({ name }) => name).toSorted();
  const bySubject = (sub: string) => corp.sign({ sub, aud: 'ci', org: 'octo' });
  const program = (sub: string) => exchangeOf('builds', sub);
  const exchangeOf = async (issuer: string, sub: string) => exchange({ issuer, token: await bySubject(sub) });
  const putBuilds = () =>
    put({ name: 'builds', kind: 'workload', audience: 'ci', prefix: 'ci:', requiredClaims: { org: 'octo' } });

  it('is forgotten: a program after 35 days, a person after 90; and is known again by the next login', async () => {
    await put();
    await putBuilds();
    await exchange(await idToken());
    await program('main');
    const all = ['corp:alice', 'workload:ci:main'];
    for (const [days, left] of [
      [34, all],
      [36, ['corp:alice']],
      [89, ['corp:alice']],
      [91, []],
    ] as const) {
      later = days * DAY_MS;
      expect(await standing.sweep()).toBe(false);
      expect([days, await known()]).toEqual([days, left]);
    }
    later = 0;
    const back = await exchange(await idToken({ groups: ['ops', 'dev'] }));
    expect([await known(), await whose(back)]).toEqual([['corp:alice'], 'login corp:alice corp:dev,corp:ops']);
  });

  it('stays while a session or a login goes on', async () => {
    await put();
    await putBuilds();
    const person = await exchange(await idToken());
    await program('main');
    await db.database.query(`update known_users set last_login_at = now() - interval '100 days'`);
    await standing.sweep();
    expect(await known()).toEqual(['corp:alice', 'workload:ci:main']);
    expect((await toldToDoors()).sessions).toMatchObject([{ user: 'corp:alice', subjectGroups: ['corp:ops'] }]);
    // The program's login lapses, and the person's as well; the session goes on.
    later = HOUR_MS;
    await standing.sweep();
    expect(await known()).toEqual(['corp:alice']);
    expect((await toldToDoors()).sessions).toHaveLength(1);
    await standing.end(api, { sessionHash: hashOfSecret(person.session!) });
    await standing.sweep();
    expect(await known()).toEqual([]);
  });

  it('stays if they log in while it is swept', async () => {
    await put();
    await exchange(await idToken());
    await db.database.query('delete from sessions');
    await db.database.query(`update known_users set last_login_at = now() - interval '100 days'`);
    const runner = db.database.createQueryRunner();
    await runner.startTransaction();
    // What a login writes, before it is seen by others.
    await runner.query('update known_users set last_login_at = now()');
    const swept = standing.sweep();
    await expect
      .poll(() => db.database.query(`select 1 from pg_stat_activity where wait_event_type = 'Lock'`))
      .toHaveLength(1);
    await runner.commitTransaction();
    await runner.release();
    await swept;
    expect(await known()).toEqual(['corp:alice']);
  });

  it('is forgotten a thousand at a time, however many names one program took', async () => {
    await db.database.query(
      `insert into known_users (id, tenant_id, name, kind, issuer, group_names, groups_as_of, first_login_at, last_login_at)
       select gen_random_uuid(), 'default', 'workload:ci:branch-' || n, 'workload', 'builds', '{}', now(), now(),
         now() - case when n > 2500 then interval '30 days' else interval '40 days' end
       from generate_series(1, 2600) n`,
    );
    const more = [await standing.sweep(), await standing.sweep(), await standing.sweep()];
    expect(more).toEqual([true, true, false]);
    expect(await db.database.query('select count(*)::int as count from known_users')).toEqual([{ count: 100 }]);
  });
});

describe('issuers', () => {
  it('are told to those who want to log in, without more than they need', async () => {
    await put({ deviceCode: true });
    const github = { name: 'github', kind: 'workload', prefix: 'gh:', requiredClaims: { repository: 'octo/shop' } };
    await put({ ...github, url: 'https://token.actions.example', audience: 'fairlead-ci' });
    expect((await issuers.list('default')).map(({ name }) => name)).toEqual(['corp', 'github']);
    const [option, ...others] = await issuers.loginOptions('default');
    expect(others).toEqual([]);
    expect(option).toEqual({
      name: 'corp',
      url: corp.url,
      clientId: 'fairlead',
      scopes: ['openid', 'profile', 'email', 'offline_access'],
      deviceCode: true,
      certificateAuthority: null,
    });
  });

  it('are changed and removed only as long as they are what somebody has seen, if that is said', async () => {
    const { revision } = await put();
    const asked = (ifRevision: string | null) => ({ by: 'admin', ifRevision });
    const conflict = { code: 'REVISION_CONFLICT' };
    await expect(issuers.put(api, 'default', asked(null), definition())).rejects.toMatchObject(conflict);
    const changed = await issuers.put(api, 'default', asked(revision), definition({ scopes: ['openid'] }));
    expect(await issuers.get('default', 'corp')).toEqual(changed);
    await expect(issuers.put(api, 'default', asked(revision), definition())).rejects.toMatchObject(conflict);
    await expect(issuers.remove(api, 'default', asked(revision), 'corp')).rejects.toMatchObject(conflict);
    await issuers.remove(api, 'default', asked(changed.revision), 'corp');
    await expect(issuers.get('default', 'corp')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('of one tenant are not another’s', async () => {
    await put();
    const theirs = definition({ url: 'https://login.example.com' });
    await expect(issuers.put(api, 'other', { by: 'admin' }, theirs)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    await expect(issuers.remove(api, 'other', { by: 'admin' }, 'corp')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await issuers.list('other')).toEqual([]);
    await expect(put({ url: 'http://issuer.example' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

describe('a program', () => {
  const claims = { sub: 'repo:octo/shop:ref:refs/heads/main', aud: 'fairlead-ci', repository_owner: 'octo' };

  it('logs in by the token of its platform, as often as it wants until that expires', async () => {
    await put({
      kind: 'workload',
      audience: 'fairlead-ci',
      prefix: 'gh:',
      requiredClaims: { repository_owner: 'octo' },
      groupsClaim: 'repository_owner',
    });
    const token = await corp.sign(claims);
    const [first, second] = [await exchange({ token }), await exchange({ token })];
    expect(first).toMatchObject({
      user: 'workload:gh:repo:octo/shop:ref:refs/heads/main',
      session: null,
      sessionEndsAt: null,
    });
    expect(await whose(second)).toBe('workload workload:gh:repo:octo/shop:ref:refs/heads/main gh:octo');
    const subject = { kind: 'workload' as const, name: 'gh:repo:octo/shop:ref:refs/heads/main' };
    expect(await groupsOfLastLogin(db.database.manager, 'default', subject)).toEqual(['gh:octo']);
    expect(await refusal({ token: await corp.sign({ ...claims, repository_owner: 'mallory' }) })).toContain(
      'required claim',
    );
    expect(await refusal({ token: await corp.sign({ ...claims, aud: 'fairlead' }) })).toContain('another audience');
    expect(await refusal({ token: await corp.sign({ ...claims, aud: ['fairlead-ci', 'else'] }) })).toContain(
      'for others',
    );
  });
});

describe('a real provider', () => {
  let real: RealProvider;
  beforeAll(async () => (real = await startRealProvider(await signingJwk())));
  afterAll(() => real[Symbol.asyncDispose]());
  beforeEach(() => put({ url: real.url, prefix: 'real:', deviceCode: true }).then(() => undefined));

  it('lets in by code and nonce, and renews with other groups', async () => {
    real.user = { name: 'alice', groups: ['ops', 'dev'] };
    const at = await logInAt(real.url, real.clientId, real.browse);
    const login = await exchange({ token: at.idToken, nonceVerifier: at.nonceVerifier });
    expect(await whose(login)).toBe('login real:alice real:dev,real:ops');
    expect(await refusal({ token: at.idToken, nonceVerifier: at.nonceVerifier })).toContain('used for a login before');
    real.user = { name: 'alice', groups: ['dev'] };
    const sessionHash = hashOfSecret(login.session!);
    expect(await whose(await exchange({ token: await at.refresh(), sessionHash }))).toBe('login real:alice real:dev');
  });

  it('signs by a new key, which is taken at once', async () => {
    const exchangeOf = ({ idToken: token, nonceVerifier }: AtIssuer) => refusal({ token, nonceVerifier });
    expect(await exchangeOf(await logInAt(real.url, real.clientId, real.browse))).toBe('taken');
    real.rotate(await signingJwk());
    const at = await logInAt(real.url, real.clientId, real.browse);
    // At once, but for the pause of five seconds after the request for its former keys.
    await expect.poll(() => exchangeOf(at), { interval: 250 }).toBe('taken');
  });

  it('lets in by device code', async () => {
    const token = await logInByDevice(real.url, real.clientId, (code) => real.confirmDevice(code));
    expect(await exchange({ token })).toMatchObject({ user: expect.stringMatching(/^real:/) });
  });
});

describe('a provider of another author', () => {
  it('lets in by code and nonce, renews, and is down', async () => {
    await using zitadel = await startZitadelOidc({ dataDir: db.scratch.file('zitadel'), log: () => undefined });
    const { url, clientId, users } = zitadel.info;
    await put({ url, prefix: 'zitadel:' });
    const [ada] = users as [(typeof users)[number]];
    const browse: Browse = async (visit, first) => {
      const form = await follow(visit, first, await visit(first));
      if (!('page' in form)) throw new Error('it did not ask for a password');
      const id = /name="id" value="([^"]+)"/.exec(form.html)?.[1] ?? '';
      const page = new URL('/login/username', url);
      const end = await follow(visit, page, await visit(page, { id, username: ada.name, password: ada.password }));
      if (!('back' in end)) throw new Error(end.html);
      return end.back;
    };
    const at = await logInAt(url, clientId, browse);
    const login = await exchange({ token: at.idToken, nonceVerifier: at.nonceVerifier });
    expect(await whose(login)).toBe('login zitadel:id-ada ');
    const sessionHash = hashOfSecret(login.session!);
    expect(await whose(await exchange({ token: await at.refresh(), sessionHash }))).toBe('login zitadel:id-ada ');
    const last = await at.refresh();
    await zitadel.stop();
    expect(await refusal({ token: last, sessionHash })).toBe('taken');
    expect(await whose(login)).toBe('login zitadel:id-ada ');
  });
});

async function signingJwk() {
  const { privateKey, kid } = await newSigningKey('ES256');
  return { ...(await exportJWK(privateKey)), kid, alg: 'ES256', use: 'sig' };
}

/** The other signature that ECDSA has for the same key and text: (r, n - s). */
function otherSignature(token: string): string {
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
  const at = token.lastIndexOf('.') + 1;
  const signature = Buffer.from(token.slice(at), 'base64url');
  const s = order - BigInt(`0x${signature.subarray(32).toString('hex')}`);
  const twin = Buffer.concat([signature.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex')]);
  return token.slice(0, at) + twin.toString('base64url');
}
