import { execFile } from 'node:child_process';
import { X509Certificate, createPrivateKey } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, lstat, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { FairleadError } from '@fairlead/errors';
import { bootstrapToken, gatewayCertificates, waitingAgent } from '@fairlead/api/testing';
import { splitPem } from '@fairlead/pki';
import { testAuthority } from '@fairlead/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CLI_SELF, type CliResult } from './testing/cli-runner.js';
import { cliScene } from './testing/logged-in.js';

const scene = cliScene();
const { fairlead } = scene;
const self = CLI_SELF;

const logIn = (...more: string[]): Promise<CliResult> =>
  fairlead(['login', '--server', scene.api.url, '--ca-file', scene.caFile, ...more], {
    stdin: `${scene.api.script.token}\n`,
  });

describe('login', () => {
  it('keeps a verified token for its owner only', async () => {
    expect(await logIn()).toMatchObject({ status: 0, out: `logged in to ${scene.api.url} as admin\n`, err: '' });
    expect((await stat(scene.home)).mode & 0o777).toBe(0o700);
    expect((await stat(`${scene.home}/config.json`)).mode & 0o777).toBe(0o600);
    expect(await fairlead(['whoami'])).toMatchObject({
      status: 0,
      out: expect.stringContaining('user: admin') as string,
    });
    const json = await fairlead(['whoami', '-o', 'json']);
    expect(JSON.parse(json.out)).toEqual(scene.api.script.principal);
  });

  it('reads the token from a file, or asks for it without showing it', async () => {
    const file = scene.scratch.file('token');
    await writeFile(file, `${scene.api.script.token}\n`);
    expect(await logIn('--token-file', file)).toMatchObject({ status: 0 });
    const typed = await fairlead(['login', '--server', scene.api.url, '--ca-file', scene.caFile], {
      terminal: true,
      stdin: `x\u007f${scene.api.script.token}\r`,
    });
    expect(typed).toMatchObject({ status: 0 });
    expect(typed.err).toContain('API token (not shown): ');
    expect(typed.err + typed.out).not.toContain(scene.api.script.token);
  });

  it('keeps nothing when the token is wrong, and says so', async () => {
    const args = ['login', '--server', scene.api.url, '--ca-file', scene.caFile];
    const refused = await fairlead(args, { stdin: 'a-wrong-but-plausible-token' });
    expect(refused.status).toBe(1);
    expect(refused.err).toBe(
      `error: ${scene.api.url} refuses the token: the token is not known\nnext: fairlead login --server ${scene.api.url} --ca-file ${scene.caFile} --token-file FILE\n`,
    );
    await expect(stat(scene.home)).rejects.toThrow('ENOENT');
    expect(await fairlead(args, { stdin: 'short' })).toMatchObject({ status: 2 });
    expect(await fairlead(args, { stdin: '' })).toMatchObject({ status: 2 });
  });

  it('says of a token that was replaced how to log in, in a command that works without a terminal', async () => {
    const { token } = scene.api.script;
    await logIn();
    const stored = `${scene.home}/config.json`;
    await writeFile(stored, (await readFile(stored, 'utf8')).replace(token, 'the-token-of-before'));
    const { err } = await fairlead(['cluster', 'list']);
    const next = /\nnext: fairlead (login .* --token-file )FILE\n$/.exec(err)?.[1];
    expect(next).toBeDefined();
    const file = scene.scratch.file('new.token');
    await writeFile(file, token);
    expect(await fairlead([...next!.trim().split(' '), file])).toMatchObject({ status: 0 });
  });

  it('takes only a plain https URL', async () => {
    for (const server of ['http://x', 'x', 'https://x/path', 'https://u:p@x', 'https://x/?q']) {
      expect(await fairlead(['login', '--server', server], { stdin: 'x' })).toMatchObject({ status: 2 });
    }
    expect(await fairlead(['login'])).toMatchObject({
      status: 2,
      err: expect.stringContaining('next: fairlead login --server https://HOST:PORT') as string,
    });
  });

  it('is forgotten by logout', async () => {
    await logIn();
    expect(await fairlead(['logout'])).toMatchObject({ status: 0, out: 'logged out\n' });
    expect(await fairlead(['logout'])).toMatchObject({ status: 0, out: 'there was no login\n' });
    const after = await fairlead(['cluster', 'list']);
    expect(after).toMatchObject({
      status: 1,
      err: expect.stringMatching(/^error: you are not logged in\nnext: /) as string,
    });
  });
});

describe('a server that cannot be trusted or reached', () => {
  it('with a root that is not known', async () => {
    const result = await fairlead(['login', '--server', scene.api.url], { stdin: scene.api.script.token });
    expect(result).toMatchObject({
      status: 1,
      err: expect.stringContaining('an authority that is not trusted here') as string,
    });
    const other = scene.scratch.file('other.pem');
    await writeFile(other, (await testAuthority()).root.certificatePem);
    const args = ['login', '--server', scene.api.url, '--ca-file', other];
    expect(await fairlead(args, { stdin: scene.api.script.token })).toMatchObject({
      err: expect.stringContaining('--ca-file ROOT.pem') as string,
    });
  });

  it('where nothing listens', async () => {
    const args = ['login', '--server', 'https://127.0.0.1:1', '--ca-file', scene.caFile];
    expect((await fairlead(args, { stdin: scene.api.script.token })).err).toContain('nothing listens there');
  });

  it('with a root file that is none', async () => {
    const args = ['login', '--server', scene.api.url, '--ca-file'];
    expect((await fairlead([...args, scene.scratch.file('no')], { stdin: 'x' })).err).toContain('cannot read the root');
    await writeFile(scene.scratch.file('empty'), '');
    expect((await fairlead([...args, scene.scratch.file('empty')], { stdin: 'x' })).err).toContain('holds no PEM');
  });
});

describe('cluster', () => {
  beforeEach(async () => {
    scene.api.script.clusters.clear();
    await logIn();
  });

  it('create, list, show and delete', async () => {
    const created = await fairlead([
      'cluster',
      'create',
      'demo',
      '--label',
      'zone=eu',
      '--label',
      'example.com/a=b.c',
      '--links',
      '1',
    ]);
    expect(created).toMatchObject({ status: 0, out: 'cluster demo created\n' });
    expect(scene.api.script.clusters.get('demo')).toMatchObject({
      links: 1,
      labels: { zone: 'eu', 'example.com/a': 'b.c' },
    });
    const list = await fairlead(['cluster', 'list']);
    expect(list.out).toMatch(
      /^NAME +STATUS +KUBERNETES +NODES +REPLICAS +LABELS +AGE\ndemo +never +- +- +- +zone=eu,example\.com\/a=b\.c +\d+s\n$/,
    );
    expect((await fairlead(['cluster', 'list', '-o', 'name'])).out).toBe('demo\n');
    expect(JSON.parse((await fairlead(['cluster', 'list', '-o', 'json'])).out)).toMatchObject({
      clusters: [{ name: 'demo' }],
    });
    expect((await fairlead(['cluster', 'show', 'demo'])).out).toMatch(/links +1\n/);
    expect(JSON.parse((await fairlead(['cluster', 'show', 'demo', '-o', 'json'])).out)).toMatchObject({ name: 'demo' });
    expect(await fairlead(['cluster', 'delete', 'demo', '--yes'])).toMatchObject({ out: 'cluster demo deleted\n' });
    expect(await fairlead(['cluster', 'show', 'demo'])).toEqual({
      status: 1,
      out: '',
      err: 'error: there is no cluster named demo\nnext: check the name with: fairlead cluster list\n',
    });
  });

  it('revoke cuts it off, for a reason, and asks first', async () => {
    await fairlead(['cluster', 'create', 'lost']);
    const command = ['cluster', 'revoke', 'lost', '--reason', 'its laptop was stolen'];
    expect(await fairlead(command)).toMatchObject({ status: 2, err: expect.stringContaining('--yes') as string });
    expect(await fairlead([...command, '--yes'], { terminal: true })).toEqual({
      status: 0,
      out: 'cluster lost cut off\n',
      err: expect.stringContaining('fairlead cluster import lost | kubectl apply -f -') as string,
    });
    expect(await fairlead(['cluster', 'revoke', 'lost', '--yes'])).toMatchObject({
      status: 2,
      err: expect.stringContaining("required option '--reason <text>'") as string,
    });
  });

  it('has certificates, which certificate list shows and certificate revoke ends', async () => {
    await fairlead(['cluster', 'create', 'demo']);
    expect((await fairlead(['certificate', 'list', 'demo'], { terminal: true })).err).toContain(
      'demo has not enrolled yet',
    );
    const serial = '0a'.repeat(16);
    const [notBefore, notAfter] = ['2026-11-01T00:00:00.000Z', '2999-11-02T00:00:00.000Z'];
    const record = { serial, purpose: 'agent' as const, names: [], generation: 1, notBefore, notAfter };
    scene.api.script.certificates.set(serial, { ...record, revokedAt: null, revokedFor: null });
    expect((await fairlead(['certificate', 'list', 'demo'])).out).toMatch(
      /^SERIAL .*\n0a0a\S+ +1 +2026\S+ +2999\S+ +valid\n$/,
    );
    const revoked = await fairlead(['certificate', 'revoke', serial, '--reason', 'copied', '--yes']);
    expect(revoked).toMatchObject({ status: 0, out: `certificate ${serial} revoked\n` });
    expect((await fairlead(['certificate', 'ls', 'demo'])).out).toMatch(/ revoked \S+: copied\n$/);
    const unknown = await fairlead(['certificate', 'revoke', '0b', '--reason', 'copied', '--yes']);
    expect(unknown).toMatchObject({
      status: 1,
      err: expect.stringContaining('no certificate with the serial') as string,
    });
    const second = { ...record, serial: '0c'.repeat(16), revokedAt: null, revokedFor: null };
    scene.api.script.certificates.set(second.serial, second);
    scene.api.script.certificatesListed = 1;
    expect((await fairlead(['certificate', 'list', 'demo'])).out).toMatch(/\n0a0a.*\n0c0c.*\n$/);
    scene.api.script.certificatesListed = 200;
    scene.api.script.certificates.clear();
  });

  it('shows the certificates of gateways, and revokes all of one', async () => {
    expect(await fairlead(['certificate', 'list'])).toMatchObject({ status: 2 });
    expect(await fairlead(['certificate', 'list', 'demo', '--gateways'])).toMatchObject({ status: 2 });
    for (const each of gatewayCertificates()) scene.api.script.certificates.set(each.serial, each);
    expect((await fairlead(['certificate', 'list', '--gateways'])).out).toMatch(
      /^SERIAL .*\n0e0e\S+ +gateway\/gateway-a .* valid\n0f0f.*\n$/,
    );
    const command = ['certificate', 'revoke', 'gateway/gateway-a', '--reason', 'taken over', '--yes'];
    const revoked = { status: 0, out: 'gateway gateway-a: 2 certificates revoked\n' };
    expect(await fairlead(command)).toMatchObject(revoked);
    expect((await fairlead(['certificate', 'list', '--gateways'])).out).toMatch(/(revoked \S+: taken over\n.*){2}$/);
    scene.api.script.certificates.clear();
  });

  it('has bootstrap tokens, which token list shows and token revoke ends', async () => {
    expect((await fairlead(['token', 'list', 'demo'], { terminal: true })).err).toContain('was never imported');
    const usedBy = { fingerprint: 'ab'.repeat(32), generation: 3 };
    const [unused, used] = [bootstrapToken('demo'), bootstrapToken('demo', { state: 'used', usedBy })];
    for (const token of [unused, used]) scene.api.script.tokens.set(token.id, token);
    const shown = await fairlead(['token', 'list', 'demo']);
    expect(shown.out).toMatch(
      new RegExp(`\n${unused.id} +unused .*\n${used.id} +used .* (ab){32} \\(enrolment 3\\)\n$`),
    );
    scene.api.script.pageSize = 1;
    expect(await fairlead(['token', 'ls', 'demo', '-o', 'name'])).toMatchObject({ out: `${unused.id}\n${used.id}\n` });
    scene.api.script.pageSize = 100;
    expect(await fairlead(['token', 'revoke', 'demo', unused.id])).toMatchObject({ status: 2 });
    const revoked = await fairlead(['token', 'revoke', 'demo', unused.id, '--yes']);
    expect(revoked).toMatchObject({ status: 0, out: `token ${unused.id} revoked\n` });
    const late = await fairlead(['token', 'revoke', 'demo', used.id], { terminal: true, stdin: 'y\n' });
    expect(late.err).toContain('fairlead cluster revoke demo');
    scene.api.script.tokens.clear();
  });

  it('is given an identity by hand: a bundle for its agent, or a manifest with it', async () => {
    await fairlead(['cluster', 'create', 'static']);
    const file = scene.scratch.file('static.json');
    const issued = await fairlead(['identity', 'issue', 'static', '--out', file]);
    expect(issued).toMatchObject({ status: 0, out: expect.stringContaining('enrolment 1') as string });
    expect(issued.out).not.toContain('PRIVATE KEY');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const bundle = JSON.parse(await readFile(file, 'utf8')) as {
      identity: Record<'keyPem', string> & { chainPem: string[] };
    };
    expect(bundle).toMatchObject({ kind: 'fairlead-identity-bundle', version: 1, identity: { generation: 1 } });
    const leaf = new X509Certificate(bundle.identity.chainPem[0] ?? '');
    expect(leaf.checkPrivateKey(createPrivateKey(bundle.identity.keyPem))).toBe(true);
    const again = await fairlead(['identity', 'issue', 'static', '--out', file]);
    expect(again).toMatchObject({ status: 1, err: expect.stringContaining('--force') as string });
    const known = scene.api.script.clusters.get('static')!;
    scene.api.script.clusters.set('static', { ...known, enrolledAt: '2026-11-01T00:00:00.000Z' });
    const yaml = scene.scratch.file('static.yaml');
    const args = ['identity', 'issue', 'static', '--out', yaml, '--manifest', '-o', 'json'];
    expect(await fairlead(args)).toMatchObject({ status: 2 });
    expect(await fairlead(args, { terminal: true, stdin: 'n\n' })).toMatchObject({ out: 'nothing issued\n' });
    const made = await fairlead([...args, '--yes']);
    expect(JSON.parse(made.out)).toMatchObject({ cluster: 'static', generation: 2, file: yaml });
    expect((await stat(yaml)).mode & 0o777).toBe(0o600);
    const [namespace, secret] = (await readFile(yaml, 'utf8'))
      .split('---\n')
      .slice(1)
      .map((each) => parse(each) as unknown);
    expect(namespace).toMatchObject({ kind: 'Namespace' });
    expect(secret).toMatchObject({ kind: 'Secret', metadata: { name: 'fairlead-agent-bootstrap' } });
    const data = (secret as { data: Record<string, string> }).data['identity-bundle.json'] ?? '';
    expect(JSON.parse(Buffer.from(data, 'base64').toString())).toMatchObject({ identity: { generation: 2 } });
    await fairlead(['cluster', 'delete', 'static', '--yes']);
  });

  it('is looked at by doctor, which says what to do and ends with 1 if something failed', async () => {
    await fairlead(['cluster', 'create', 'sick']);
    const { status, out, err } = await fairlead(['doctor', 'sick']);
    expect([status, err]).toEqual([1, '']);
    expect(out).toMatch(/^ok {4}api +https:\S+: it answers admin\nok {4}cluster +sick: /);
    expect(out).toMatch(/\nFAIL {2}enrolment .*\n {6}what to do +fairlead cluster import sick \| kubectl apply -f -\n/);
    expect(out).toMatch(/ of \d+ failed\n$/);
    const json = await fairlead(['doctor', 'sick', '-o', 'json']);
    expect(json.status).toBe(1);
    const { ok, findings } = JSON.parse(json.out) as { ok: boolean; findings: { check: string; ok: boolean }[] };
    expect(ok).toBe(false);
    // Nobody serves the doors that this API names.
    const failing = findings.filter((each) => !each.ok).map(({ check }) => check);
    expect(failing).toEqual(['enrolment', 'door', 'door']);
    const missing = await fairlead(['doctor', 'no-such', '-o', 'json']);
    expect([missing.status, JSON.parse(missing.out)]).toMatchObject([
      1,
      { findings: [{ ok: true }, { check: 'cluster' }] },
    ]);
    await fairlead(['logout']);
    const loggedOut = await fairlead(['doctor', 'sick']);
    expect([loggedOut.status, loggedOut.out]).toEqual([1, expect.stringContaining('you are not logged in') as string]);
    await logIn();
    await fairlead(['cluster', 'delete', 'sick', '--yes']);
  });

  it('show tells of a second process with the same identity, and what to do', async () => {
    await fairlead(['cluster', 'create', 'twice']);
    const since = '2026-11-01T00:00:00.000Z';
    const agents = ['192.0.2.1', '198.51.100.7'].map((address, index) => ({
      instance: `${index}aaaaaaa-0000`,
      addresses: [address],
      since,
      version: '0.1.0',
      pod: null,
    }));
    const cluster = scene.api.script.clusters.get('twice')!;
    const lastError = {
      at: since,
      code: 'UNAVAILABLE',
      reason: 'it broke',
      address: '192.0.2.1',
      replica: 'gateway-b',
    };
    cluster.presence = {
      state: 'online',
      replicas: ['gateway-a'],
      liveReplicas: 2,
      since,
      agents,
      duplicate: 'elsewhere',
      lastError,
    };
    const { out } = await fairlead(['cluster', 'show', 'twice']);
    expect(out).toContain(`0aaaaaaa from 192.0.2.1 since ${since}, 1aaaaaaa from 198.51.100.7 since ${since}`);
    expect(out).toContain('fairlead cluster revoke twice --reason TEXT');
    expect(out).toMatch(/last error +UNAVAILABLE: it broke \(192\.0\.2\.1 at gateway-b, 2026\S+\)\n/);
    cluster.presence = { ...cluster.presence, duplicate: null };
    expect((await fairlead(['cluster', 'show', 'twice'])).out).not.toContain('revoke');
    Object.assign(cluster, { enrolledAt: since, manifestValues: { namespace: 'edge' } });
    expect((await fairlead(['cluster', 'delete', 'twice', '--yes'])).err).toContain('kubectl delete namespace edge\n');
  });

  it('show and list tell what the agent says of its cluster', async () => {
    await fairlead(['cluster', 'create', 'told']);
    const cluster = scene.api.script.clusters.get('told')!;
    expect((await fairlead(['cluster', 'show', 'told'])).out).toMatch(/nodes +-\n/);
    cluster.facts = waitingAgent().facts;
    const { out } = await fairlead(['cluster', 'show', 'told']);
    expect(out).toMatch(
      /kubernetes +v1\.34\.4\+k3s1\ndistribution +k3s on aws\nnodes +2\/3 ready\nagent can +link:facts, rbac:/,
    );
    const json = JSON.parse((await fairlead(['cluster', 'list', '-o', 'json'])).out) as { clusters: object[] };
    expect(json.clusters).toContainEqual(
      expect.objectContaining({ name: 'told', facts: expect.objectContaining({ nodes: { total: 3, ready: 2 } }) }),
    );
    expect((await fairlead(['cluster', 'list'])).out).toMatch(/told +never +v1\.34\.4\+k3s1 k3s on aws +2\/3 ready /);
    await fairlead(['cluster', 'delete', 'told', '--yes']);
  });

  it('create names targets, and show tells them', async () => {
    const rules = ['10.0.0.0/8:10250', '*.shop.svc:443'];
    await fairlead(['cluster', 'create', 'shop', ...rules.flatMap((rule) => ['--allow-target', rule])]);
    expect(scene.api.script.clusters.get('shop')).toMatchObject({ targets: rules });
    expect((await fairlead(['cluster', 'show', 'shop'])).out).toMatch(
      /targets +10\.0\.0\.0\/8:10250, \*\.shop\.svc:443\n/,
    );
    const bad = await fairlead(['cluster', 'create', 'bad', '--allow-target', '10.0.0.1']);
    expect(bad).toMatchObject({ status: 1, err: expect.stringContaining('write a target as HOST:PORT') as string });
  });

  it('list shows every page', async () => {
    for (const name of ['c', 'a', 'b']) await fairlead(['cluster', 'create', name]);
    scene.api.script.pageSize = 1;
    const { out } = await fairlead(['cluster', 'list', '-o', 'name']);
    scene.api.script.pageSize = 100;
    expect(out).toBe('a\nb\nc\n');
  });

  it('delete asks on a terminal, and needs --yes elsewhere', async () => {
    await fairlead(['cluster', 'create', 'demo']);
    expect(await fairlead(['cluster', 'delete', 'demo'])).toMatchObject({
      status: 2,
      err: expect.stringContaining('--yes') as string,
    });
    const no = await fairlead(['cluster', 'delete', 'demo'], { terminal: true, stdin: 'n\n' });
    expect(no).toMatchObject({ status: 0, out: 'nothing deleted\n' });
    const yes = await fairlead(['cluster', 'delete', 'demo'], { terminal: true, stdin: 'y\n' });
    expect(yes.out).toBe('cluster demo deleted\n');
  });

  it('turns problems of the server into two lines', async () => {
    const bad = await fairlead(['cluster', 'create', 'No Such Name', '--links', '7']);
    expect(bad.status).toBe(1);
    expect(bad.err).toMatch(/^error: name: a cluster name is .*; links: .*\nnext: .*\n$/);
    await fairlead(['cluster', 'create', 'twice']);
    expect((await fairlead(['cluster', 'create', 'twice'])).err).toContain('there is a cluster twice already');
    scene.api.script.nextFailure = new FairleadError('UNAVAILABLE', 'the database is away\n\u001b[2Jgone');
    const away = await fairlead(['cluster', 'create', 'thrice']);
    expect(away.err).toMatch(/^error: the database is away \?\[2Jgone \(request [0-9a-f-]+\)\nnext: try again/);
    expect(await fairlead(['cluster', 'show', '../whoami'])).toMatchObject({ status: 1 });
    scene.api.script.nextFailure = new FairleadError('UNAVAILABLE', 'the database is away for a moment');
    expect(await fairlead(['cluster', 'show', 'twice'])).toMatchObject({ status: 0, err: '' });
  });

  it('import prints the manifest, or only a link', async () => {
    await fairlead(['cluster', 'create', 'demo']);
    const manifest = await fairlead(['cluster', 'import', 'demo']);
    expect(manifest).toMatchObject({ status: 0, err: '' });
    expect(parse(manifest.out)).toMatchObject({ kind: 'Namespace' });
    const link = await fairlead(['cluster', 'import', 'demo', '--link']);
    expect(link.out).toMatch(new RegExp(`^${scene.api.url}/import/[\\w-]{43}\n`));
    expect(link.out).toContain(
      `with ${scene.caFile} sent along as root.pem:\ncurl -fsS --cacert root.pem ${scene.api.url}/import/`,
    );
    const json = await fairlead(['cluster', 'import', 'demo', '--link', '-o', 'json']);
    expect(JSON.parse(json.out)).toMatchObject({
      url: expect.any(String) as string,
      expiresAt: expect.any(String) as string,
    });
    expect(await fairlead(['cluster', 'import', 'demo', '-o', 'json'])).toMatchObject({ status: 2 });
    expect(await fairlead(['cluster', 'import', 'nowhere'])).toMatchObject({ status: 1 });
  });

  it('is coloured only on a terminal, and not with NO_COLOR', async () => {
    await fairlead(['cluster', 'create', 'demo']);
    expect((await fairlead(['cluster', 'list'], { terminal: true })).out).toContain('\u001b[33mnever');
    const plain = await fairlead(['cluster', 'list'], { terminal: true, env: { NO_COLOR: '1' } });
    expect(plain.out).not.toContain('\u001b');
  });
});

describe('request and policy', () => {
  beforeEach(async () => {
    scene.api.script.requests.clear();
    scene.api.script.policies.clear();
    await logIn();
  });

  it('list who waits, let in and turn away', async () => {
    expect((await fairlead(['request', 'list'], { terminal: true })).err).toContain('no agent is pending');
    const [first, second] = [waitingAgent(), waitingAgent({ fingerprint: 'cd'.repeat(32), cluster: 'shop' })];
    for (const each of [first, second]) scene.api.script.requests.set(each.id, each);
    const { out } = await fairlead(['request', 'list']);
    expect(out).toMatch(/^ID +STATE +CLUSTER +FINGERPRINT +FROM +KUBERNETES +PROVIDER +NODES +AGE\n/);
    expect(out).toMatch(
      new RegExp(
        `${first.id} +pending +- +${'ab'.repeat(32)} +192.0.2.1 +v1.34.4.k3s1 linux/amd64 +k3s on aws +2/3 ready `,
      ),
    );
    scene.api.script.pageSize = 1;
    expect((await fairlead(['request', 'ls', '-o', 'name'])).out).toBe(`${first.id}\n${second.id}\n`);
    scene.api.script.pageSize = 100;
    const approve = await fairlead(['request', 'approve', first.id, '--cluster', 'shop-eu']);
    expect(approve).toMatchObject({ status: 0, out: `approved as shop-eu: ${'ab'.repeat(32)}\n` });
    const reject = await fairlead(['request', 'reject', second.id, '--reason', 'not ours']);
    expect(reject).toMatchObject({ status: 0, out: `rejected: ${'cd'.repeat(32)}\n` });
    expect((await fairlead(['request', 'list', '--state', 'all'])).out).toContain('rejected: not ours');
    expect(await fairlead(['request', 'approve', crypto.randomUUID()])).toMatchObject({ status: 1 });
    expect((await fairlead(['request', 'manifest'])).out).toContain('kind: Namespace');
  });

  it('show and choose who decides', async () => {
    expect((await fairlead(['policy', 'show'])).out).toBe('token (inherited)\n');
    expect((await fairlead(['policy', 'set', 'queue'])).out).toBe('queue\n');
    expect((await fairlead(['policy', 'set', 'token', '--cluster', 'demo'])).out).toBe('token\n');
    expect((await fairlead(['policy', 'set', 'inherit', '--cluster', 'demo'])).out).toBe('queue (inherited)\n');
    const insecure = await fairlead(['policy', 'set', 'insecure-always-approve']);
    expect(insecure).toMatchObject({ status: 1, err: expect.stringContaining('it needs a flag') as string });
    expect(await fairlead(['policy', 'set', 'everybody'])).toMatchObject({ status: 2 });
  });
});

describe('kubeconfig', () => {
  beforeEach(async () => {
    scene.api.script.clusters.clear();
    await logIn();
    await fairlead(['cluster', 'create', 'demo']);
  });

  it('has a context per door and no secret', async () => {
    const { out, err } = await fairlead(['kubeconfig', 'demo']);
    expect(err).toBe('');
    expect(out).not.toContain(scene.api.script.token);
    const user = `demo@${new URL(scene.api.url).host}`;
    expect(parse(out)).toMatchObject({
      'current-context': 'demo',
      contexts: [
        { name: 'demo', context: { cluster: 'demo@gateway-a', user } },
        { name: 'demo@gateway-a', context: { cluster: 'demo@gateway-a', user } },
        { name: 'demo@gateway-b', context: { cluster: 'demo@gateway-b', user } },
      ],
      clusters: [{ cluster: { server: 'https://127.0.0.1:7443/clusters/demo' } }, { name: 'demo@gateway-b' }],
      users: [
        {
          name: user,
          user: {
            exec: {
              apiVersion: 'client.authentication.k8s.io/v1',
              command: self.program,
              args: [...self.args, 'credential', '--server', scene.api.url, '--cluster', 'demo'],
              env: [{ name: 'FAIRLEAD_HOME', value: scene.home }],
              interactiveMode: 'IfAvailable',
              provideClusterInfo: false,
            },
          },
        },
      ],
    });
    const config = parse(out) as { clusters: { cluster: Record<string, string> }[] };
    const data = config.clusters[0]?.cluster['certificate-authority-data'] ?? '';
    expect(Buffer.from(data, 'base64').toString()).toBe(scene.api.caPem);
  });

  it('takes another door, and knows which there are', async () => {
    const { out } = await fairlead(['kubeconfig', 'demo', '--door', 'gateway-b']);
    expect(parse(out)).toMatchObject({ contexts: [{ name: 'demo', context: { cluster: 'demo@gateway-b' } }, {}, {}] });
    expect((await fairlead(['kubeconfig', 'demo', '--door', 'x'])).err).toContain(
      'next: use one of: gateway-a, gateway-b',
    );
  });

  it("goes to a file, but never in the place of a kubeconfig that is the user's own", async () => {
    const file = scene.scratch.file('demo.kubeconfig');
    const written = { status: 0, out: `${file}: 3 contexts written\n` };
    expect(await fairlead(['kubeconfig', 'demo', '--output', file])).toMatchObject(written);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(parse(await readFile(file, 'utf8'))).toMatchObject({ kind: 'Config' });
    await mkdir(scene.scratch.file('.kube'));
    const own = scene.scratch.file('.kube', 'config');
    await writeFile(own, 'mine');
    await symlink(own, scene.scratch.file('link'));
    for (const path of [own, scene.scratch.file('link')]) {
      expect(await fairlead(['kubeconfig', 'demo', '--output', path])).toMatchObject({ status: 2 });
    }
    const env = { KUBECONFIG: `/elsewhere:${file}` };
    expect(await fairlead(['kubeconfig', 'demo', '--output', file], { env })).toMatchObject({ status: 2 });
    expect(await readFile(own, 'utf8')).toBe('mine');
  });

  it('is of every cluster with --all, where none of them is chosen', async () => {
    await fairlead(['cluster', 'create', 'shop']);
    const config = parse((await fairlead(['kubeconfig', '--all'])).out) as Record<string, { name: string }[]>;
    expect(config.contexts?.map(({ name }) => name)).toEqual(
      ['demo', 'shop'].flatMap((name) => [name, `${name}@gateway-a`, `${name}@gateway-b`]),
    );
    expect([config.users?.length, config['current-context']]).toEqual([2, undefined]);
    for (const args of [['kubeconfig'], ['kubeconfig', 'demo', '--all']]) {
      expect(await fairlead(args)).toMatchObject({ status: 2, err: expect.stringContaining('--all') as string });
    }
  });

  it("is put into the user's own by --merge, beside what is there, or into a file", async () => {
    const own = scene.scratch.file('.kube', 'config');
    expect(await fairlead(['kubeconfig', 'demo', '--merge'])).toMatchObject({
      status: 0,
      out: `${own}: 3 contexts written\n`,
    });
    expect((await stat(own)).mode & 0o777).toBe(0o600);
    const theirs = scene.scratch.file('theirs');
    await writeFile(theirs, 'kind: Config\ncurrent-context: kind\nusers: [{name: kind, user: {token: x}}] # mine\n');
    await chmod(theirs, 0o640);
    await symlink(theirs, scene.scratch.file('link'));
    const env = { KUBECONFIG: `${scene.scratch.file('missing')}:${scene.scratch.file('link')}:${own}` };
    const { out } = await fairlead(['kubeconfig', 'demo', '--merge'], { env });
    expect(out).toBe(`${scene.scratch.file('link')}: 3 contexts written\n`);
    const merged = await readFile(theirs, 'utf8');
    expect(parse(merged)).toMatchObject({ 'current-context': 'kind', users: [{ name: 'kind' }, {}] });
    expect([merged.includes('# mine'), (await lstat(scene.scratch.file('link'))).isSymbolicLink()]).toEqual([
      true,
      true,
    ]);
    expect((await stat(theirs)).mode & 0o777).toBe(0o640);
    expect(await fairlead(['kubeconfig', 'demo', '--merge', '--output', theirs])).toMatchObject({ status: 0 });
    expect(await readFile(theirs, 'utf8')).toBe(merged);
  });

  it('is not put into what is no kubeconfig, nor into one that somebody is writing', async () => {
    const file = scene.scratch.file('config');
    await writeFile(file, 'kind: Pod\n');
    expect(await fairlead(['kubeconfig', 'demo', '--merge', '--output', file])).toMatchObject({
      status: 1,
      err: expect.stringContaining('is no kubeconfig') as string,
    });
    await writeFile(`${file}.lock`, '');
    await writeFile(file, '');
    expect(await fairlead(['kubeconfig', 'demo', '--merge', '--output', file])).toMatchObject({
      status: 1,
      err: expect.stringContaining(`delete ${file}.lock`) as string,
    });
    expect([await readFile(file, 'utf8'), existsSync(`${file}.lock`)]).toEqual(['', true]);
  });

  it('leads to host names of the clusters only where they have any', async () => {
    const { status, err } = await fairlead(['kubeconfig', 'demo', '--by-name']);
    expect([status, err]).toEqual([1, expect.stringContaining('FAIRLEAD_CLUSTER_DOMAIN')]);
  });

  it('asks credential for the token, which goes to no other installation', async () => {
    const { out } = await fairlead(['credential', '--server', scene.api.url]);
    const answer = JSON.parse(out) as { status: { token: string; expirationTimestamp: string } };
    expect(answer).toMatchObject({ kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1' });
    expect(answer.status.token).toBe(scene.api.script.token);
    expect(Date.parse(answer.status.expirationTimestamp) - Date.now()).toBeLessThanOrEqual(60_000);
    const foreign = await fairlead(['credential', '--server', 'https://elsewhere.example']);
    expect(foreign).toMatchObject({ status: 1, out: '' });
    await fairlead(['logout']);
    expect(await fairlead(['credential'])).toMatchObject({
      status: 1,
      err: expect.stringContaining('not logged in') as string,
    });
  });
});

describe('client', () => {
  let out: string;
  beforeEach(async () => {
    scene.api.script.clusters.clear();
    scene.api.script.clients.clear();
    out = scene.scratch.file('client');
    await logIn();
    await fairlead(['cluster', 'create', 'demo']);
  });

  const create = (name: string, ...more: string[]): Promise<CliResult> =>
    fairlead(['client', 'create', name, '--out', out, ...more]);

  it('create makes a key here, has it certified, and shows how it is used', async () => {
    const made = await create('prometheus', '--cluster', 'demo');
    expect(made).toMatchObject({ status: 0, err: '' });
    const [key, certificate, authority] = await Promise.all(
      ['client.key', 'client.crt', 'ca.crt'].map((file) => readFile(`${out}/${file}`, 'utf8')),
    );
    expect((await stat(`${out}/client.key`)).mode & 0o777).toBe(0o600);
    expect(authority).toBe(scene.api.caPem);
    const [leaf = '', ...issuers] = splitPem(certificate ?? '');
    expect(new X509Certificate(leaf).checkPrivateKey(createPrivateKey(key ?? ''))).toBe(true);
    // Who verifies it has the root.
    expect(issuers).toHaveLength(1);
    expect(made.out).toContain('gateway-a https://127.0.0.1:7447, gateway-b https://127.0.0.1:7547');
    expect(made.out).toContain('--proxy https://127.0.0.1:7447 --proxy-user demo: ');
    const egress = parse(made.out.slice(made.out.indexOf('apiVersion:'))) as object;
    expect(egress).toMatchObject({
      kind: 'EgressSelectorConfiguration',
      egressSelections: [{ connection: { transport: { tcp: { tlsConfig: { clientKey: `${out}/client.key` } } } } }],
    });
    expect(made.out + scene.api.logLines.join('')).not.toContain((key ?? '').split('\n')[1]);
  });

  it('create replaces nothing unasked, and renews when asked', async () => {
    await create('prometheus', '--cluster', 'demo');
    const before = await readFile(`${out}/client.key`, 'utf8');
    expect(await create('prometheus', '--cluster', 'demo')).toMatchObject({
      status: 1,
      err: expect.stringContaining('--force') as string,
    });
    expect(await readFile(`${out}/client.key`, 'utf8')).toBe(before);
    const renewed = await create('prometheus', '--cluster', 'demo', '--force', '-o', 'json');
    expect(JSON.parse(renewed.out)).toMatchObject({
      client: { name: 'prometheus', clusters: ['demo'] },
      doors: [{ name: 'gateway-a' }, { name: 'gateway-b' }],
      files: { key: `${out}/client.key` },
    });
    expect(await readFile(`${out}/client.key`, 'utf8')).not.toBe(before);
  });

  it('create wants to know for which clusters, and writes nothing when it fails', async () => {
    expect(await create('x')).toMatchObject({ status: 2, err: expect.stringContaining('--all-clusters') as string });
    expect(await create('x', '--all-clusters', '--cluster', 'demo')).toMatchObject({ status: 2 });
    expect(await create('x', '--cluster', 'nowhere')).toMatchObject({ status: 1 });
    await expect(stat(out)).rejects.toThrow('ENOENT');
    await writeFile(scene.scratch.file('occupied'), '');
    const blocked = await fairlead([
      'client',
      'create',
      'x',
      '--all-clusters',
      '--out',
      scene.scratch.file('occupied'),
    ]);
    expect(blocked.err).toMatch(/^error: cannot make .*\nnext: /);
  });

  it('list and delete', async () => {
    expect(await fairlead(['client', 'list'])).toMatchObject({ status: 0, out: '' });
    await create('b', '--all-clusters');
    await create('a', '--cluster', 'demo', '--force');
    scene.api.script.pageSize = 1;
    expect((await fairlead(['client', 'list', '-o', 'name'])).out).toBe('a\nb\n');
    scene.api.script.pageSize = 100;
    const listed = await fairlead(['client', 'list']);
    expect(listed.out).toMatch(/^NAME +CLUSTERS +CERTIFIED UNTIL +AGE\na +demo +\S+ +\d+s\nb +all clusters +/);
    expect(JSON.parse((await fairlead(['client', 'list', '-o', 'json'])).out)).toMatchObject({
      clients: [{ name: 'a', clusters: ['demo'] }, { clusters: null }],
    });
    expect(await fairlead(['client', 'delete', 'a'])).toMatchObject({ status: 2 });
    expect(await fairlead(['client', 'delete', 'a', '--yes'])).toMatchObject({ out: 'client a deleted\n' });
    expect((await fairlead(['client', 'delete', 'a', '--yes'])).err).toContain('fairlead client list');
  });
});

describe('ca', () => {
  it('shows the roots, and leads through a rotation', async () => {
    await logIn();
    const authority = {
      id: crypto.randomUUID(),
      tree: 'identity' as const,
      role: 'root' as const,
      state: 'active' as const,
      subject: 'CN=Fairlead identity root',
      pin: 'ab'.repeat(32),
      notBefore: '2026-11-01T00:00:00.000Z',
      notAfter: '2036-11-01T00:00:00.000Z',
      key: 'sealed' as const,
    };
    scene.api.script.ca = { ...scene.api.script.ca, authorities: [authority] };
    expect((await fairlead(['ca', 'status'])).out).toMatch(
      /^TREE .*\nidentity +root +active +2036\S+ +sealed +abababababababab +CN=Fairlead identity root\n$/,
    );
    expect(await fairlead(['ca', 'prepare'], { terminal: true })).toMatchObject({
      status: 0,
      out: 'the next root is made, and is being made known\n',
      err: expect.stringContaining('fairlead ca activate') as string,
    });
    const { rotation } = scene.api.script.ca;
    if (!rotation) throw new Error('there is no rotation');
    const waited = {
      tenantId: 'default',
      clusterId: crypto.randomUUID(),
      heldVersion: 0,
      why: 'unacknowledged',
    } as const;
    const waitingFor = [{ ...waited, waitedUntil: '2026-12-01T00:00:00.000Z' }];
    scene.api.script.ca = {
      ...scene.api.script.ca,
      rotation: { ...rotation, clusters: 3, clustersDone: 1, waitingFor },
    };
    expect((await fairlead(['ca', 'status'])).out).toMatch(
      /clusters: 1 of 3 trust it\n {2}\S+: nothing acknowledged; could come back until 2026\S+\n {2}and 1 more\nnext: wait.*fairlead ca activate\n$/,
    );
    expect(await fairlead(['ca', 'activate'])).toMatchObject({
      status: 1,
      err: expect.stringContaining('2 clusters do not trust it yet') as string,
    });
    expect(await fairlead(['ca', 'activate', '--force'])).toMatchObject({ status: 2 });
    expect((await fairlead(['ca', 'activate', '--force', '--yes'])).out).toBe('the next root is active\n');
    expect((await fairlead(['ca', 'retire'])).out).toBe('the old root is retired\n');
    expect(JSON.parse((await fairlead(['ca', 'status', '-o', 'json'])).out)).toMatchObject({ rotation: null });
  });
});

describe('endpoints', () => {
  const at = (host: string): string => `${host}.example.com:443`;

  it('adds, drains and removes, and says how many clusters were told', async () => {
    await logIn();
    expect((await fairlead(['endpoints', 'list'])).out).toMatch(/^no endpoints: .*import manifest/);
    const first = await fairlead(['endpoints', 'add', at('Old')], { terminal: true });
    expect(first).toMatchObject({ status: 0, err: expect.stringContaining('those of import manifests too') as string });
    const [region, name] = [
      ['--region', 'eu', '--weight', '3'],
      ['--server-name', 'link.example.com'],
    ];
    await fairlead(['endpoints', 'add', at('new'), ...region, ...name]);
    const drained = await fairlead(['endpoints', 'drain', at('new')]);
    expect(drained.out).toMatch(
      /new\S+ +draining +eu +3 +link\.example\.com\ntrust bundle 4: 1 of 2 clusters were told\n$/,
    );
    await fairlead(['endpoints', 'add', at('new')]);
    expect(await fairlead(['endpoints', 'remove', at('old')])).toMatchObject({ status: 2 });
    expect(await fairlead(['endpoints', 'remove', at('old'), '--yes'])).toMatchObject({ status: 0 });
    expect(JSON.parse((await fairlead(['endpoints', 'list', '-o', 'json'])).out)).toMatchObject({
      endpoints: [{ address: at('new'), weight: 1, state: 'active' }],
    });
    expect(scene.api.script.actors).toEqual(Array.from({ length: 5 }, () => 'admin'));
  });

  it('says what is wrong, and what to do', async () => {
    await logIn();
    const { endpoints } = scene.api.script.endpoints;
    expect(await fairlead(['endpoints', 'drain', at('nowhere')])).toMatchObject({
      status: 1,
      err: `error: there is no endpoint ${at('nowhere')}\nnext: fairlead endpoints list\n`,
    });
    const wrong = await fairlead(['endpoints', 'add', 'https://a']);
    expect(wrong).toMatchObject({ status: 1, err: expect.stringContaining('HOST:PORT') as string });
    expect((await fairlead(['endpoints', 'add', 'a:443', '--weight', '0'])).status).toBe(1);
    expect(scene.api.script.endpoints.endpoints).toBe(endpoints);
  });
});

describe('wrong usage', () => {
  it.each([
    [['clutser', 'list'], 'fairlead --help'],
    [['cluster', 'create'], 'fairlead cluster create --help'],
    [['cluster', 'ls', '-o', 'yaml'], 'fairlead cluster list --help'],
    [['cluster', 'nothing'], 'fairlead cluster --help'],
  ])('%j leads to %s', async (args, next) => {
    expect(await fairlead(args)).toMatchObject({
      status: 2,
      err: expect.stringContaining(`\nnext: ${next}\n`) as string,
    });
  });
});

describe('completion', () => {
  it('works in a real bash', async () => {
    const { out } = await fairlead(['completion', 'bash']);
    const script = scene.scratch.file('completion.bash');
    await writeFile(script, out);
    const complete = async (...words: string[]): Promise<string> => {
      const line = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _fairlead; echo "\${COMPREPLY[@]}"`;
      const { stdout } = await promisify(execFile)('bash', ['-c', line, 'bash', script, ...words], { timeout: 60_000 });
      return stdout.trim();
    };
    expect(await complete('fairlead', 'clu')).toBe('cluster');
    expect(await complete('fairlead', 'cluster', '')).toBe('create list show delete update label import revoke');
    expect(await complete('fairlead', 'client', '')).toBe('create list delete');
    expect(await complete('fairlead', 'cluster', 'create', 'x', '--l')).toBe('--label --links');
    expect(await complete('fairlead', 'completion', '')).toBe('bash zsh fish');
  });
});
