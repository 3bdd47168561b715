import { randomBytes } from 'node:crypto';
import { chmod, writeFile } from 'node:fs/promises';
import { FairleadError } from '@fairlead/errors';
import { clusterGitOps, deployKey, hostKey, installerReport, rollout } from '@fairlead/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { loggedIn } from './testing/logged-in.js';

const SHOWN = `ssh-ed25519 ${'A'.repeat(68)}`;
const { fingerprint: FINGERPRINT } = hostKey(SHOWN);
const containing = (text: string): string => expect.stringContaining(text) as string;

const scene = loggedIn();
const { fairlead } = scene;

beforeEach(() => {
  scene.api.script.shownHostKeys = [SHOWN];
});

const ADD = ['git-host', 'add', 'main', '--kind', 'gitea', '--url', 'https://git.example.com'];
const addHost = () => fairlead(ADD, { stdin: 'a-token-of-gitea' });
const addCatalog = () => fairlead(['catalog', 'add', 'catalog', '--host', 'main', '--repo', 'platform/catalog']);

async function importFlux(version = 'v2.7.3') {
  const file = scene.scratch.file('flux.yaml');
  await writeFile(file, `# ${version}\nkind: Namespace\n`);
  return fairlead(['bundle', 'import', file, '--tool', 'flux', '--version', version]);
}

describe('git-host', () => {
  it('takes the token from a file of one’s own, a pipe or a hidden question, and never shows it', async () => {
    const token = randomBytes(20).toString('hex');
    const file = scene.scratch.file('token');
    await writeFile(file, `${token}\n`, { mode: 0o644 });
    await chmod(file, 0o644);
    expect(await fairlead([...ADD, '--token-file', file])).toMatchObject({
      status: 2,
      err: containing(`chmod 600 ${file}`),
    });
    await chmod(file, 0o600);
    const made = await fairlead([...ADD, '--token-file', file], { terminal: true });
    expect(made).toMatchObject({ status: 0, out: 'Git host main kept; its token is sealed\n' });
    expect(made.err).toContain('fairlead git-host scan main');
    const typed = await fairlead(ADD, { terminal: true, stdin: `${token}\r` });
    expect(typed).toMatchObject({ status: 0, err: containing('token of the Git host (not shown): ') });
    const piped = await fairlead(ADD, { stdin: token });
    expect(scene.api.script.gitTokens.slice(-3)).toEqual([token, token, token]);
    const shown = await fairlead(['git-host', 'show', 'main', '-o', 'json']);
    for (const { out, err } of [made, typed, piped, shown]) expect(out + err).not.toContain(token);
  });

  it('keeps the token that is there, if told so', async () => {
    await addHost();
    const kept = await fairlead([...ADD, '--keep-token', '--ssh-port', '2222']);
    expect(kept).toMatchObject({ status: 0 });
    expect(scene.api.script.gitHosts.get('main')).toMatchObject({ sshPort: 2222, hasToken: true });
    expect(await fairlead([...ADD, '--keep-token', '--token-file', 'x'])).toMatchObject({ status: 2 });
    const manual = await fairlead(['git-host', 'add', 'old', '--kind', 'manual', '--ssh-host', 'git.old.example']);
    expect(manual).toMatchObject({ status: 0, out: 'Git host old kept\n' });
  });

  it('says what the token lacks, and what to do', async () => {
    expect(await fairlead(ADD, { stdin: 'refused-token' })).toEqual({
      status: 1,
      out: '',
      err: expect.stringMatching(/^error: the token lacks write:repository.*\nnext: .*docs\/gitops\.md/) as string,
    });
    expect(await fairlead(ADD, { stdin: '' })).toMatchObject({ status: 2, err: containing('--token-file') });
  });

  it('shows keys with the fingerprints of ssh-keygen, and approves none that nobody named', async () => {
    await addHost();
    const scanned = await fairlead(['git-host', 'scan', 'main']);
    expect(scanned.out).toMatch(/^STATE +TYPE +FINGERPRINT .*\nproposed +ssh-ed25519 +SHA256:\S{43} /);
    const unnamed = await fairlead(['git-host', 'approve', 'main']);
    expect(unnamed).toMatchObject({ status: 2, err: containing(`fairlead git-host approve main ${FINGERPRINT}`) });
    expect(await fairlead(['git-host', 'approve', 'main', '--yes'])).toMatchObject({ status: 2 });
    const no = await fairlead(['git-host', 'approve', 'main'], { terminal: true, stdin: 'n\n' });
    expect(no.out).toContain('nothing approved');
    expect(scene.api.script.gitHosts.get('main')?.hostKeys).toMatchObject([{ state: 'proposed' }]);
    const yes = await fairlead(['git-host', 'approve', 'main'], { terminal: true, stdin: 'y\n' });
    expect(yes.out).toContain('these are trusted');
    expect(scene.api.script.gitHosts.get('main')?.hostKeys).toMatchObject([{ state: 'approved', decidedBy: 'admin' }]);
    expect((await fairlead(['git-host', 'list'])).out).toMatch(/\nmain +gitea .* 1 approved +sealed +-\n$/);
  });

  it('approves a key that is known from elsewhere', async () => {
    await addHost();
    expect(await fairlead(['git-host', 'approve', 'main', '--key', 'git.example.com x'])).toMatchObject({ status: 2 });
    expect((await fairlead(['git-host', 'approve', 'main', '--key', SHOWN])).out).toContain(FINGERPRINT);
    expect(await fairlead(['git-host', 'approve', 'main', 'SHA256:nobody'])).toMatchObject({
      status: 1,
      err: containing('fairlead git-host scan'),
    });
    expect(await fairlead(['git-host', 'rm', 'main'])).toMatchObject({ status: 2 });
    expect(await fairlead(['git-host', 'rm', 'main', '--yes'])).toMatchObject({ out: 'Git host main forgotten\n' });
  });
});

describe('catalog and bundle', () => {
  it('add, list and remove', async () => {
    await addHost();
    expect(await addCatalog()).toMatchObject({ status: 0, out: containing('ssh://git@git.test/platform/catalog.git') });
    expect((await fairlead(['catalog', 'ls'])).out).toMatch(/\ncatalog +main +platform\/catalog +main +90d /);
    const missing = await fairlead(['catalog', 'add', 'x', '--host', 'main', '--repo', 'platform/missing']);
    expect(missing).toMatchObject({ status: 1, err: containing('--create') });
    expect(await fairlead(['catalog', 'rm', 'catalog', '--yes'])).toMatchObject({ status: 0 });
  });

  it('import from a file, or from a URL whose digest is known', async () => {
    expect(await importFlux()).toMatchObject({ status: 0, out: containing('bundle flux v2.7.3 kept: 3 objects') });
    expect(String(scene.api.script.bundleBytes)).toContain('kind: Namespace');
    const url = ['bundle', 'import', 'https://example.com/x.yaml', '--tool', 'argocd', '--version', 'v3'];
    expect(await fairlead(url)).toMatchObject({ status: 2, err: containing('sha256sum') });
    expect(await fairlead([...url, '--digest', `sha256:${'AB'.repeat(32)}`])).toMatchObject({ status: 0 });
    expect((await fairlead(['bundle', 'list', '-o', 'name'])).out).toBe('v2.7.3\nv3\n');
    const file = ['bundle', 'import', scene.scratch.file('flux.yaml'), '--tool', 'flux', '--version', 'v2.7.3'];
    expect(await fairlead([...file, '--digest', 'ab'.repeat(32)])).toMatchObject({
      status: 1,
      err: containing('has the digest'),
    });
    expect(
      await fairlead(['bundle', 'import', scene.scratch.file('no'), '--tool', 'flux', '--version', 'v1']),
    ).toMatchObject({
      status: 1,
      err: containing('cannot read the bundle'),
    });
    expect(await fairlead(['bundle', 'rm', 'v2.7.3', '--tool', 'flux', '--yes'])).toMatchObject({ status: 0 });
  });
});

describe('cluster create --gitops', () => {
  const create = ['cluster', 'create', 'demo', '--gitops', 'flux', '--repo', 'catalog'];

  it('makes a cluster that follows a repository, in one line', async () => {
    await addHost();
    await addCatalog();
    await importFlux('v2.7.2');
    await importFlux('v2.7.3');
    const made = await fairlead([...create, '--path', 'shops/{cluster}']);
    expect(made).toMatchObject({ status: 0, out: containing('cluster demo created\n') });
    expect(made.out).toContain(
      'the host keys of main are not approved: fairlead git-host scan main, then fairlead git-host approve main',
    );
    expect(scene.api.script.clusters.has('demo')).toBe(true);
    expect(scene.api.script.assignments.get('demo')).toMatchObject({
      selector: { cluster: 'demo' },
      tool: 'flux',
      bundleVersion: 'v2.7.3',
      repository: 'catalog',
      path: 'shops/{cluster}',
    });
  });

  it('makes nothing before all that it names is there', async () => {
    expect(await fairlead(create)).toMatchObject({ status: 1, err: containing('fairlead catalog add catalog') });
    await addHost();
    await addCatalog();
    expect(await fairlead(create)).toMatchObject({
      status: 1,
      err: containing('fairlead bundle import FILE --tool flux'),
    });
    expect(await fairlead(['cluster', 'create', 'demo', '--repo', 'catalog'])).toMatchObject({ status: 2 });
    expect(scene.api.script.clusters.size).toBe(0);
  });

  it('says how to go on when the cluster is there and its assignment is not', async () => {
    await addHost();
    await addCatalog();
    await importFlux();
    scene.api.script.assignmentFailure = new FairleadError('CONFLICT', 'not now');
    expect(await fairlead(create)).toMatchObject({
      status: 1,
      err: expect.stringMatching(
        /cluster demo is created, but follows nothing: not now\nnext: fairlead gitops assign demo --cluster demo --repo catalog/,
      ) as string,
    });
  });
});

describe('gitops assign', () => {
  beforeEach(async () => {
    await addHost();
    await addCatalog();
    await importFlux();
    await fairlead(['cluster', 'create', 'demo']);
  });

  it('makes an assignment, and changes no more of it than is said', async () => {
    expect(await fairlead(['gitops', 'assign', 'shop'])).toMatchObject({
      status: 2,
      err: containing('--cluster NAME'),
    });
    const made = [
      'gitops',
      'assign',
      'shop',
      '--label',
      'stage=prod',
      '--repo',
      'catalog',
      '--interval',
      '5m',
      '--wave',
      '1',
    ];
    expect((await fairlead(made)).out).toContain('assignment shop made: flux v2.7.3 for clusters with stage=prod\n');
    const changed = await fairlead([
      'gitops',
      'assign',
      'shop',
      '--soak',
      '2m',
      '--self-heal',
      'observe',
      '--wave',
      '20%',
    ]);
    expect(changed.out).toContain('assignment shop changed');
    expect(scene.api.script.assignments.get('shop')).toMatchObject({
      selector: { labels: { stage: 'prod' } },
      repository: 'catalog',
      intervalSeconds: 300,
      selfHeal: 'observe',
      rollout: { waves: ['20%'], soakSeconds: 120 },
    });
    expect((await fairlead(['gitops', 'list'])).out).toMatch(/\nshop +stage=prod +100 +flux +v2\.7\.3 +catalog /);
    expect((await fairlead(['gitops', 'show', 'shop'])).out).toMatch(/waves +20%, the rest\n/);
    expect(await fairlead(['gitops', 'assign', 'shop', '--wave', 'many'])).toMatchObject({ status: 2 });
  });

  it('requires signatures by keys of which it takes the public half only', async () => {
    const [publicHalf, secret] = [scene.scratch.file('Alice.pub'), scene.scratch.file('alice')];
    await writeFile(publicHalf, `${SHOWN} alice@example.com\n`);
    await writeFile(secret, '-----BEGIN OPENSSH PRIVATE KEY-----\n');
    const assign = ['gitops', 'assign', 'one', '--cluster', 'demo', '--repo', 'catalog'];
    expect(await fairlead([...assign, '--verify-gpg', secret])).toMatchObject({
      status: 2,
      err: containing('private key'),
    });
    expect(await fairlead([...assign, '--verify-ssh', publicHalf])).toMatchObject({
      status: 1,
      err: containing('SSH'),
    });
    expect(await fairlead([...assign, '--verify-gpg', publicHalf])).toMatchObject({ status: 0 });
    expect(scene.api.script.assignments.get('one')?.verification).toMatchObject({
      type: 'gpg',
      keys: [{ name: 'alice' }],
    });
    expect(await fairlead(['gitops', 'assign', 'one', '--no-verify'])).toMatchObject({ status: 0 });
    expect(scene.api.script.assignments.get('one')?.verification).toBeNull();
  });

  it('suspends, resumes and unassigns', async () => {
    await fairlead(['gitops', 'assign', 'one', '--cluster', 'demo', '--repo', 'catalog']);
    expect((await fairlead(['gitops', 'suspend', 'one'])).out).toBe('assignment one suspended\n');
    expect(scene.api.script.assignments.get('one')).toMatchObject({ suspend: true, repository: 'catalog' });
    expect((await fairlead(['gitops', 'resume', 'one'])).out).toBe('assignment one resumed\n');
    expect(await fairlead(['gitops', 'suspend', 'two'])).toMatchObject({
      status: 1,
      err: containing('fairlead gitops list'),
    });
    const asked = await fairlead(['gitops', 'unassign', 'one', '--remove', 'everything'], {
      terminal: true,
      stdin: 'n\n',
    });
    expect(asked.err).toContain('All that the tool deployed is deleted');
    expect(scene.api.script.assignments.has('one')).toBe(true);
    await fairlead(['gitops', 'unassign', 'one', '--remove', 'tool', '--yes']);
    expect(scene.api.script.removals).toEqual(['tool']);
  });
});

describe('gitops status', () => {
  it('shows all clusters, and one with what somebody has to do', async () => {
    await addHost();
    await addCatalog();
    await importFlux();
    await fairlead(['cluster', 'create', 'demo', '--gitops', 'flux', '--repo', 'catalog']);
    const demo = clusterGitOps('demo', { assignment: 'demo', health: 'unknown', waitsFor: 'approved host keys' });
    scene.api.script.statuses.set('demo', demo);
    for (const name of ['a', 'b', 'c']) scene.api.script.statuses.set(name, clusterGitOps(name));
    scene.api.script.pageSize = 2;
    expect((await fairlead(['gitops', 'status'])).out).toMatch(
      /^NAME .*\na .*\nb .*\nc .*\ndemo +unknown +demo .* waits for: approved/,
    );
    scene.api.script.pageSize = 100;
    scene.api.script.deployKeys.push(
      deployKey(scene.api.script.clusters.get('demo')?.id ?? '', { instructions: 'add ssh-ed25519 AAAA' }),
    );
    const one = await fairlead(['gitops', 'status', 'demo']);
    expect(one.out).toContain('the host keys of main are not approved: fairlead git-host scan main');
    expect(one.out).toContain('add ssh-ed25519 AAAA');
    expect(JSON.parse((await fairlead(['gitops', 'status', 'demo', '-o', 'json'])).out)).toMatchObject({
      name: 'demo',
    });
  });

  it('tells which hosts a cluster does not reach', async () => {
    const preflight = {
      at: new Date().toISOString(),
      hosts: [
        { kind: 'git' as const, host: 'git.test:22', code: 'NOT_TRIED', message: 'not tried: port 22' },
        { kind: 'registry' as const, host: 'ghcr.io', code: 'UNREACHABLE', message: 'no connection (ETIMEDOUT)' },
        { kind: 'registry' as const, host: 'registry.corp', code: 'REACHABLE', message: '' },
      ],
    };
    scene.api.script.statuses.set('demo', clusterGitOps('demo', { report: installerReport(1, { preflight }) }));
    const { out } = await fairlead(['gitops', 'status', 'demo']);
    expect(out).toMatch(/\nreaches +registry\.corp\n/);
    expect(out).toMatch(/\ngit git\.test:22 +not tried: port 22\n/);
    expect(out).toMatch(/\nregistry ghcr\.io +UNREACHABLE: no connection \(ETIMEDOUT\); nodes may have another way/);
    const json = JSON.parse((await fairlead(['gitops', 'status', 'demo', '-o', 'json'])).out);
    expect(json).toMatchObject({ report: { preflight } });
  });

  it('waits until a cluster is healthy, and no longer than it is told to', async () => {
    scene.api.script.statuses.set('demo', clusterGitOps('demo', { health: 'progressing', revision: 2 }));
    const late = await fairlead(['gitops', 'status', 'demo', '--wait', '--timeout', '5s']);
    expect(late).toMatchObject({ status: 1, err: containing('demo is not healthy: progressing, no report yet') });
    const waiting = fairlead(['gitops', 'status', 'demo', '--wait', '--timeout', '60s']);
    scene.api.script.statuses.set(
      'demo',
      clusterGitOps('demo', { health: 'healthy', revision: 2, report: installerReport(2) }),
    );
    expect(await waiting).toMatchObject({ status: 0, out: containing('healthy, healthy, revision 2 of 2') });
    const problem = { code: 'APPLY_FORBIDDEN', message: 'RBAC', since: new Date().toISOString() };
    const report = installerReport(2, { phase: 'escalated', problem });
    scene.api.script.statuses.set('demo', clusterGitOps('demo', { health: 'failed', revision: 2, report }));
    const failed = await fairlead(['gitops', 'status', 'demo', '--wait']);
    expect(failed).toMatchObject({
      status: 1,
      err: containing('APPLY_FORBIDDEN: RBAC\nnext: fairlead gitops events demo'),
    });
    const watched = await fairlead(['gitops', 'status', 'demo', '--watch', '--timeout', '5s']);
    expect(watched).toMatchObject({ status: 0, out: containing('failed, escalated') });
    expect(await fairlead(['gitops', 'status', '--wait'])).toMatchObject({ status: 2 });
    expect(await fairlead(['gitops', 'status', 'demo', '--wait', '--timeout', 'soon'])).toMatchObject({ status: 2 });
  });

  it('tells what was repaired, and rotates a deploy key', async () => {
    scene.api.script.statuses.set('demo', clusterGitOps('demo'));
    const at = '2026-11-01T00:00:00.000Z';
    scene.api.script.gitopsEvents = [
      { sequence: 1, at, step: 'restarted', object: 'Deployment x', message: 'it was frozen' },
    ];
    expect((await fairlead(['gitops', 'events', 'demo'])).out).toContain('restarted   Deployment x   it was frozen');
    expect((await fairlead(['gitops', 'rotate-key', 'demo'])).out).toBe('demo makes its next deploy key\n');
  });
});

describe('rollout and breaker', () => {
  it('are listed and steered, by id or by assignment', async () => {
    const running = rollout('shop');
    const done = rollout('shop', { state: 'done', endedAt: new Date().toISOString() });
    for (const each of [done, running]) scene.api.script.rollouts.set(each.id, each);
    expect((await fairlead(['rollout', 'list'])).out).toMatch(/\n\S+ +shop +running +1 of 2 +0 of 5 +0 +5 /);
    scene.api.script.pageSize = 1;
    expect((await fairlead(['rollout', 'list', '-o', 'name'])).out).toBe(`${running.id}\n`);
    expect((await fairlead(['rollout', 'pause', 'shop'])).out).toBe('rollout of shop: paused\n');
    scene.api.script.pageSize = 100;
    expect((await fairlead(['rollout', 'roll-back', running.id])).out).toBe('rollout of shop: rolling-back\n');
    expect(await fairlead(['rollout', 'abort', done.id])).toMatchObject({
      status: 1,
      err: containing('fairlead rollout list'),
    });
    expect(await fairlead(['rollout', 'abort', 'other'])).toMatchObject({ status: 1 });
  });

  it('the breaker tells what it holds, and lets go', async () => {
    expect((await fairlead(['gitops', 'breaker'])).out).toBe('closed: nothing is held\n');
    scene.api.script.breaker = { state: 'open', code: 'IMAGE', clusters: 9, of: 10, since: '2026-11-01T00:00:00.000Z' };
    expect((await fairlead(['gitops', 'breaker'])).out).toContain('9 of 10 clusters came to have IMAGE');
    expect((await fairlead(['gitops', 'breaker', '--reset'])).out).toBe('closed: nothing is held\n');
  });
});
