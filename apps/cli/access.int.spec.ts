import { readFile, stat, writeFile } from 'node:fs/promises';
import { grantTo, userOf } from '@fairlead/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { CliResult } from './testing/cli-runner.js';
import { loggedIn } from './testing/logged-in.js';

const containing = (text: string): string => expect.stringContaining(text) as string;
const DAY_MS = 86_400_000;

const scene = loggedIn();
const { fairlead } = scene;
const script = () => scene.api.script;

beforeEach(async () => {
  const { grants, accessRequests, apiTokens, lockdowns, issuers, users } = script();
  for (const known of [grants, accessRequests, apiTokens, lockdowns, issuers, users]) known.clear();
  await fairlead(['cluster', 'create', 'prod', '--label', 'env=prod']);
});

/** The same home, but logged in as somebody who is no administrator. */
async function becomeAlice(): Promise<void> {
  const token = 'a-token-of-alice-of-some-length';
  script().users.set(token, userOf('corp:alice', { subjectGroups: ['corp:developers'] }));
  await fairlead(['login', '--server', scene.api.url, '--ca-file', scene.caFile], { stdin: token });
}

const onlyGrant = () => [...script().grants.values()][0];

describe('grant', () => {
  const CREATE = ['grant', 'create', '--user', 'corp:alice', '--reason', 'SHOP-7'];

  it('creates what it is told, and says what it is', async () => {
    const narrowed = ['--role', 'view', '-n', 'shop', '--verb', 'get', '--verb', 'list', '--clusters', 'env=staging'];
    const made = await fairlead([...CREATE, ...narrowed, '--for', '4d'], { terminal: true });
    expect(made.status).toBe(0);
    expect(onlyGrant()).toMatchObject({
      subject: { kind: 'user', name: 'corp:alice' },
      effect: 'allow',
      clusters: { selector: 'env=staging' },
      role: 'view',
      narrowing: { verbs: ['get', 'list'], namespaces: ['shop'] },
      notBefore: null,
      reason: 'SHOP-7',
      createdBy: 'admin',
    });
    const endsInMs = Date.parse(onlyGrant()?.expiresAt ?? '') - Date.now();
    expect(endsInMs).toBeGreaterThan(4 * DAY_MS - 60_000);
    expect(endsInMs).toBeLessThanOrEqual(4 * DAY_MS);
    expect(made.out).toMatch(/^granted to user corp:alice, until 20.*: view, get,list in shop\ngrant [0-9a-f-]{36}\n$/);
    expect(made.err).toContain(`fairlead grant delete ${onlyGrant()?.id ?? 'none'}`);
  });

  it('forbids, gives groups of a cluster, lets name others, and makes administrators', async () => {
    const forbid = ['--deny', '--resource', 'secrets', '--all-clusters', '--until', 'never', '-o', 'json'];
    expect(JSON.parse((await fairlead([...CREATE, ...forbid])).out)).toMatchObject({
      effect: 'deny',
      role: null,
      clusters: { all: true },
      narrowing: { resources: ['secrets'] },
      expiresAt: null,
    });
    const groups = ['--kubernetes-group', 'oncall', '--cluster', 'prod', '--as-user', 'bob', '--until', '2030-01-01'];
    const begins = ['--from', '2029-12-01', '-o', 'json'];
    expect(JSON.parse((await fairlead([...CREATE, ...groups, ...begins])).out)).toMatchObject({
      role: null,
      groups: ['oncall'],
      clusters: { names: ['prod'] },
      impersonate: { users: ['bob'] },
      notBefore: '2029-12-01T00:00:00.000Z',
      expiresAt: '2030-01-01T23:59:59.000Z',
    });
    const administrator = ['--role', 'administrator', '--until', 'never', '-o', 'json'];
    expect(JSON.parse((await fairlead([...CREATE, ...administrator])).out)).toMatchObject({
      role: 'administrator',
      clusters: { all: true },
    });
  });

  it.each([
    [['--role', 'view', '--for', '4d'], 'which clusters'],
    [['--all-clusters', '--for', '4d'], 'what they may do'],
    [['--role', 'view', '--all-clusters'], 'how long it lasts'],
    [['--role', 'owner', '--all-clusters', '--for', '4d'], 'Allowed choices'],
    [['--role', 'view', '--all-clusters', '--cluster', 'prod', '--for', '4d'], 'cannot be used with'],
    [['--role', 'view', '--all-clusters', '--for', '4d', '--until', 'never'], 'cannot be used with'],
    [['--role', 'view', '--all-clusters', '--until', 'friday'], 'Write it like'],
    [['--role', 'view', '--all-clusters', '--for', '4d', '--token', 'x'], 'cannot be used with'],
  ])('refuses %j as wrong usage, with what to do', async (more, why) => {
    const refused = await fairlead([...CREATE, ...more]);
    expect(refused).toMatchObject({ status: 2, err: containing(why) });
    expect(refused.err).toContain('next: ');
    expect(script().grants.size).toBe(0);
  });

  it('is of targets where it is to a client, and says so', async () => {
    const toClient = ['grant', 'create', '--client', 'prometheus', '--reason', 'scrapes', '--until', 'never'];
    const where = ['--clusters', 'env=prod', '--target', '10.0.0.0/8:9100', '--target', '*.shop.svc:443'];
    const made = await fairlead([...toClient, ...where], { terminal: true });
    expect(made).toMatchObject({ status: 0, out: containing('client prometheus') });
    expect(made.out).toContain('targets 10.0.0.0/8:9100,*.shop.svc:443');
    expect(onlyGrant()).toMatchObject({
      subject: { kind: 'client', name: 'prometheus' },
      role: null,
      targets: ['10.0.0.0/8:9100', '*.shop.svc:443'],
    });
    expect(await fairlead([...toClient, '--all-clusters'])).toMatchObject({ status: 2, err: containing('--target') });
  });

  it('passes on what the server refuses, by the name of the field', async () => {
    const taken = ['grant', 'create', '--user', 'system:admin', '--role', 'view', '--all-clusters', '--until', 'never'];
    const refused = await fairlead([...taken, '--reason', 'x']);
    expect(refused).toMatchObject({ status: 1, err: containing('subject.name: names that begin with system:') });
  });

  it('lists, shows and deletes', async () => {
    const [alices, tokens] = [
      grantTo(
        script(),
        { kind: 'user', name: 'corp:alice' },
        { clusters: { names: ['prod'] }, expiresAt: '2020-01-01T00:00:00.000Z' },
      ),
      grantTo(script(), { kind: 'token', name: 'deployer' }, { role: 'edit', narrowing: { namespaces: ['shop'] } }),
    ];
    const listed = await fairlead(['grant', 'list']);
    expect(listed.out).toMatch(/^ID +WHO +WHAT +WHERE +UNTIL +REASON\n/);
    expect(listed.out).toMatch(/user corp:alice +view +prod +ended 2020-01-01T00:00:00.000Z +to look at it\n/);
    expect(listed.out).toMatch(/token deployer +edit, in shop +all clusters +never +to look at it\n/);
    expect((await fairlead(['grant', 'list', '--token', 'deployer', '-o', 'name'])).out).toBe(`${tokens.id}\n`);
    expect((await fairlead(['grant', 'list', '--cluster', 'prod', '-o', 'name'])).out.trim().split('\n')).toHaveLength(
      2,
    );
    const shown = await fairlead(['grant', 'show', alices.id]);
    expect(shown.out).toContain('who:      user corp:alice\nwhat:     view\nwhere:    prod\n');
    expect(await fairlead(['grant', 'delete', alices.id])).toMatchObject({ status: 2, err: containing('--yes') });
    expect(await fairlead(['grant', 'delete', alices.id, '--yes'])).toMatchObject({ status: 0 });
    expect(await fairlead(['grant', 'show', alices.id])).toMatchObject({
      status: 1,
      err: containing('fairlead grant list'),
    });
  });

  it('shows somebody who is no administrator their own, and says so', async () => {
    grantTo(script(), { kind: 'group', name: 'corp:developers' });
    grantTo(script(), { kind: 'user', name: 'corp:bob' });
    await becomeAlice();
    expect(await fairlead(['grant', 'list'])).toMatchObject({
      status: 1,
      err: containing('fairlead grant list --mine'),
    });
    const mine = await fairlead(['grant', 'list', '--mine']);
    expect([mine.out.split('\n').length, mine.out]).toEqual([3, containing('group corp:developers')]);
    const refused = await fairlead(['cluster', 'delete', 'prod', '--yes']);
    expect(refused).toMatchObject({ status: 1, err: containing('corp:alice is none') });
    expect(refused.err).toContain('next: ask an administrator');
    expect((await fairlead(['cluster', 'list', '-o', 'name'])).out).toBe('prod\n');
  });
});

describe('access', () => {
  const ask = (...more: string[]): Promise<CliResult> =>
    fairlead([
      'access',
      'request',
      '--cluster',
      'prod',
      '--role',
      'edit',
      '-n',
      'shop',
      '--for',
      '2h',
      '--reason',
      'incident 7',
      ...more,
    ]);
  const onlyRequest = () => [...script().accessRequests.values()][0];

  it('is asked for, seen by who asks, decided by somebody else', async () => {
    await becomeAlice();
    const asked = await ask();
    expect(asked).toMatchObject({ status: 0, out: `asked for edit for 2h: request ${onlyRequest()?.id ?? 'none'}\n` });
    expect(onlyRequest()).toMatchObject({ user: 'corp:alice', seconds: 7_200, narrowing: { namespaces: ['shop'] } });
    const row = /pending +corp:alice +edit, in shop +prod +2h +- +incident 7\n/;
    expect((await fairlead(['access', 'requests'])).out).toMatch(row);
    const id = onlyRequest()?.id ?? 'none';
    expect(await fairlead(['access', 'approve', id])).toMatchObject({ status: 1, err: containing('is none') });
    await fairlead(['login', '--server', scene.api.url, '--ca-file', scene.caFile], { stdin: script().token });
    expect((await fairlead(['access', 'requests'])).out).toMatch(row);
    expect((await fairlead(['access', 'requests', '--mine', '-o', 'name'])).out).toBe('');
    const approved = await fairlead(['access', 'approve', id]);
    expect(approved.out).toBe(`approved for 2h: corp:alice, grant ${onlyGrant()?.id ?? 'none'}\n`);
    expect(await fairlead(['access', 'reject', id])).toMatchObject({ status: 1 });
    expect((await fairlead(['access', 'requests', '--state', 'all', '-o', 'name'])).out).toBe(`${id}\n`);
  });

  it('is not decided by who asks', async () => {
    await ask();
    const own = await fairlead(['access', 'approve', onlyRequest()?.id ?? 'none']);
    expect(own).toMatchObject({ status: 1, err: containing('next: let another administrator decide about it') });
    expect((await fairlead(['access', 'reject', onlyRequest()?.id ?? 'none'])).status).toBe(1);
  });

  it('is explained, with the grant that decides and the groups that the cluster sees', async () => {
    const { id } = grantTo(script(), { kind: 'token', name: 'deployer' }, { role: 'edit' });
    const explain = ['access', 'explain'];
    const allowed = await fairlead([...explain, 'token:deployer', 'prod', 'get', 'pods', 'cart-0', '-n', 'shop']);
    expect(allowed.out).toBe(
      `allowed: a grant allows it\ngrant ${id}: fairlead grant show ${id}\nRBAC of prod decides next, with the groups: fairlead:edit\n`,
    );
    expect(script().explained.at(-1)).toMatchObject({
      subject: { kind: 'token', name: 'deployer' },
      cluster: 'prod',
      verb: 'get',
      resource: 'pods',
      name: 'cart-0',
      namespace: 'shop',
    });
    const refused = await fairlead([...explain, 'corp:bob', 'prod', 'get', '/metrics', '--group', 'corp:x'], {
      terminal: true,
    });
    expect(refused).toMatchObject({ status: 0, out: 'refused: no grant of theirs means this cluster\n' });
    expect(refused.err).toContain('fairlead access request --cluster prod');
    expect(script().explained.at(-1)).toMatchObject({ subjectGroups: ['corp:x'] });
    expect(await fairlead([...explain, 'me', 'prod', 'get', 'pods'])).toMatchObject({
      status: 1,
      err: containing('needs no grant'),
    });
    await becomeAlice();
    expect(await fairlead([...explain, 'me', 'prod', 'get', 'pods'])).toMatchObject({
      status: 1,
      err: containing('access request'),
    });
    grantTo(script(), { kind: 'user', name: 'corp:alice' });
    expect((await fairlead([...explain, 'me', 'prod', 'get', 'pods'])).out).toContain('allowed');
  });

  it('is shut, listed and opened again', async () => {
    const lock = ['access', 'lockdown', 'prod', '--reason', 'stolen laptop'];
    expect(await fairlead(lock)).toMatchObject({ status: 2, err: containing('--yes') });
    expect((await fairlead([...lock, '--yes'])).out).toMatch(
      /^the cluster prod locked down by admin at .*: stolen laptop\n$/,
    );
    const all = await fairlead(['access', 'lockdown', '--reason', 'incident'], { terminal: true, stdin: 'y\n' });
    expect(all).toMatchObject({ status: 0, out: containing('all clusters locked down') });
    const listed = await fairlead(['access', 'lockdowns']);
    expect(listed.out).toMatch(/^WHERE +BY +AGE +REASON\nprod +admin +\d+s +stolen laptop\nall clusters +admin/);
    expect(await fairlead(['access', 'unlock', 'prod', '--yes'])).toMatchObject({
      status: 0,
      out: 'lockdown of the cluster prod lifted\n',
    });
    expect(await fairlead(['access', 'unlock', 'prod', '--yes'])).toMatchObject({
      status: 1,
      err: containing('access lockdowns'),
    });
    expect(await fairlead(['access', 'unlock', '--yes'])).toMatchObject({ status: 0 });
    expect(script().lockdowns.size).toBe(0);
  });
});

describe('api-token', () => {
  it('shows the secret once: alone on standard output, or in a file for its owner', async () => {
    const shown = await fairlead(['api-token', 'create', 'deployer', '--for', '90d'], { terminal: true });
    expect(shown).toMatchObject({ status: 0, out: expect.stringMatching(/^[\w-]{43}\n$/) as string });
    expect(shown.err).toContain('fairlead grant create --token deployer');
    expect(shown.err).not.toContain(shown.out.trim());
    const file = scene.scratch.file('ci.token');
    const kept = await fairlead(['api-token', 'create', 'ci', '--until', 'never', '--out', file, '-o', 'json']);
    expect(JSON.parse(kept.out)).toMatchObject({ token: { name: 'ci', expiresAt: null }, file });
    expect([(await stat(file)).mode & 0o777, await readFile(file, 'utf8')]).toEqual([
      0o600,
      expect.stringMatching(/^[\w-]{43}\n$/),
    ]);
    expect(kept.out).not.toContain((await readFile(file, 'utf8')).trim());
    const again = await fairlead(['api-token', 'create', 'more', '--until', 'never', '--out', file]);
    expect(again).toMatchObject({ status: 1, err: containing('--force') });
    expect([...script().apiTokens.values()].map(({ name }) => name)).toEqual(['deployer', 'ci']);
    expect(await fairlead(['api-token', 'create', 'ci', '--for', '1d'])).toMatchObject({
      status: 1,
      err: containing('api-token revoke'),
    });
    expect(await fairlead(['api-token', 'create', 'endless'])).toMatchObject({
      status: 2,
      err: containing('--until never'),
    });
  });

  it('lists and revokes by name', async () => {
    await fairlead(['api-token', 'create', 'deployer', '--until', '2030-06-01']);
    expect((await fairlead(['api-token', 'list'])).out).toMatch(
      /^NAME +STATUS +UNTIL +LAST USED +MADE BY +AGE +ID\ndeployer +valid +2030-06-01T23:59:59.000Z +never +admin/,
    );
    expect(await fairlead(['api-token', 'revoke', 'deployer', '--yes'])).toMatchObject({
      status: 0,
      out: 'token deployer revoked\n',
    });
    expect((await fairlead(['api-token', 'list'])).out).toMatch(/deployer +revoked 20/);
    expect(await fairlead(['api-token', 'revoke', 'nobody', '--yes'])).toMatchObject({
      status: 1,
      err: containing('api-token list'),
    });
  });
});

describe('issuer', () => {
  it('is added with a prefix of its own, listed and removed', async () => {
    const ca = scene.scratch.file('issuer-ca.pem');
    await writeFile(ca, scene.api.caPem);
    const url = 'https://login.example.com';
    const person = [
      'issuer',
      'add',
      'corp',
      '--url',
      url,
      '--client-id',
      'fairlead',
      '--user-claim',
      'email',
      '--ca-file',
      ca,
    ];
    expect(await fairlead(person)).toMatchObject({
      status: 0,
      out: 'issuer corp put: its users are called corp:NAME\n',
    });
    const program = [
      'issuer',
      'add',
      'ci',
      '--kind',
      'workload',
      '--url',
      url,
      '--client-id',
      'x',
      '--require',
      'org=ours',
      '--prefix',
      'ci/',
    ];
    expect(await fairlead(program)).toMatchObject({ status: 0 });
    expect(script().issuers.get('corp')).toMatchObject({
      kind: 'oidc',
      prefix: 'corp:',
      userClaim: 'email',
      certificateAuthority: scene.api.caPem,
    });
    expect(script().issuers.get('ci')).toMatchObject({
      kind: 'workload',
      prefix: 'ci/',
      requiredClaims: { org: 'ours' },
    });
    expect((await fairlead(['issuer', 'list'])).out).toMatch(
      /^NAME +KIND +URL +CLIENT +PREFIX\ncorp +oidc +https:\S+ +fairlead +corp:\n/,
    );
    expect(
      await fairlead(['issuer', 'add', 'other', '--url', url, '--client-id', 'x', '--prefix', 'corp:']),
    ).toMatchObject({
      status: 1,
      err: containing('fairlead issuer list'),
    });
    expect(await fairlead(['issuer', 'remove', 'corp', '--yes'])).toMatchObject({
      status: 0,
      out: 'issuer corp forgotten\n',
    });
    expect([...script().issuers.keys()]).toEqual(['ci']);
    const noPem = await fairlead([...person.slice(0, -1), scene.scratch.file('nothing')]);
    expect(noPem).toMatchObject({ status: 1, err: containing('cannot read') });
  });
});

it('user list names those to whom something can be granted', async () => {
  const at = new Date().toISOString();
  const known = { tenantId: 'default', issuer: 'corp', groups: ['corp:developers'], firstLoginAt: at, lastLoginAt: at };
  script().knownUsers.push({ ...known, id: crypto.randomUUID(), name: 'corp:alice', kind: 'user' });
  const listed = await fairlead(['user', 'list']);
  expect(listed.out).toMatch(
    /^NAME +KIND +ISSUER +GROUPS +LAST LOGIN\ncorp:alice +user +corp +corp:developers +\d+s ago\n$/,
  );
  expect((await fairlead(['user', 'list', '-o', 'name'])).out).toBe('corp:alice\n');
});

it('completes what there is', async () => {
  const { out } = await fairlead(['completion', 'bash']);
  expect(out).toContain('\'grant delete\') words=" $(fairlead grant list -o name 2>/dev/null)"');
  expect(out).toContain('\'access approve\') words=" $(fairlead access requests -o name 2>/dev/null)"');
});
