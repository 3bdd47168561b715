import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { githubApiBase } from './drivers/github.js';
import { gitHostContract } from './testing/contract.js';
import { failsWith } from './testing/fails-with.js';
import { answering } from './testing/front.js';
import { openUnderTest } from './testing/host-under-test.js';
import { newPublicKey } from './testing/keys.js';
import { startFakeGithub, type GithubUnderTest } from './testing/start-fakes.js';

gitHostContract('GitHub, as it is documented', startFakeGithub);

describe('GitHub, and what is only its own', () => {
  let github: GithubUnderTest;
  beforeAll(async () => {
    github = await startFakeGithub();
  });
  afterAll(() => github[Symbol.asyncDispose]());

  const rightsOf = async (token: string, createRepositories = false) => {
    await using host = openUnderTest(github, { token });
    return await host.checkRights({ repository: github.repository, createRepositories });
  };
  const lines = ({ findings }: Awaited<ReturnType<typeof rightsOf>>) =>
    findings.map(({ verdict, right }) => `${verdict} ${right}`);

  it('has its API where each kind of GitHub has it', () => {
    const bases = ['https://github.com', 'https://acme.ghe.com', 'https://git.example.com/', 'https://evil-github.com'];
    expect(bases.map((base) => githubApiBase(new URL(base)).href)).toEqual([
      'https://api.github.com/',
      'https://api.acme.ghe.com/',
      'https://git.example.com/api/v3',
      'https://evil-github.com/api/v3',
    ]);
  });

  it('reads the scopes of a classic token', async () => {
    github.fake.tokens.set('ghp_nothing_0123456789', { login: 'octocat', scopes: '' });
    expect(lines(await rightsOf('ghp_nothing_0123456789'))).toEqual(['missing repo']);
    expect(lines(await rightsOf(github.tokens.wide))).toEqual([
      'too-wide admin:org',
      'too-wide delete_repo',
      'granted repo',
      'too-wide repo',
      'granted administration=write',
    ]);
  });

  it('finds the permissions of a fine-grained token, and when it expires', async () => {
    const permissions = ['administration=write', 'contents=read', 'secrets=write', 'webhooks=read'];
    const token = 'github_pat_expiring_0123456789';
    github.fake.tokens.set(token, { login: 'octocat', permissions, expires: '2027-01-31 10:00:00 +0100' });
    const report = await rightsOf(token, true);
    expect(report).toMatchObject({ account: 'octocat', expiresAt: new Date('2027-01-31T09:00:00Z') });
    expect(lines(report)).toEqual([
      'granted administration=write',
      'granted contents=read',
      'too-wide webhooks=read',
      'too-wide secrets=read',
      'unverified administration=write',
    ]);
    expect(lines(await rightsOf(github.tokens.readOnly))).toEqual([
      'missing administration=write',
      'granted contents=read',
    ]);
  });

  it("takes an app's token, whose account GitHub does not tell", async () => {
    github.front.inject('GET', '/user', answering(403, {}, { message: 'Resource not accessible by integration' }));
    const report = await rightsOf(github.tokens.enough);
    expect(report.account).toBeNull();
    expect(lines(report)).toEqual(['granted administration=write', 'granted contents=read']);
  });

  it('says which permission a refusal wants', async () => {
    await using host = openUnderTest(github, { token: github.tokens.readOnly });
    const call = host.addDeployKey(github.repository, { label: 'demo', publicKey: newPublicKey() });
    const { details } = await failsWith('GIT_RIGHTS_MISSING', call);
    expect(details).toMatchObject({ status: 403, acceptedPermissions: 'administration=write' });
    github.front.inject(
      'GET',
      '/repos/platform/catalog',
      answering(403, { 'x-github-sso': 'required; url=https://x' }),
    );
    const other = await failsWith('GIT_RIGHTS_MISSING', host.findRepository(github.repository));
    expect(other.details).toMatchObject({ singleSignOn: 'required' });
  });

  it('takes 403 for a limit where GitHub means one', async () => {
    const nowMs = Date.UTC(2026, 10, 22);
    const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs, sleep: async () => {} };
    const answers = [
      [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(nowMs / 1_000 + 900) }, 900],
      [{ 'retry-after': '60', 'x-ratelimit-remaining': '4000' }, 60],
      [{ 'retry-after': '99999999' }, 3_600],
    ] as const;
    for (const [headers, seconds] of answers) {
      await using host = openUnderTest(github, { clock });
      github.front.inject('GET', '/repos/platform/catalog', answering(403, headers));
      const { details } = await failsWith('RATE_LIMITED', host.findRepository(github.repository));
      expect(details).toMatchObject({ retryAfterSeconds: seconds });
    }
  });

  it('finds a repository under its old name, and does not write there', async () => {
    const { fake, front } = github;
    const repo = fake.repos.find(({ name }) => name === 'catalog')!;
    fake.renamed.set('platform/old-name', repo);
    await using host = openUnderTest(github);
    const old = { owner: 'platform', name: 'old-name' };
    expect(await host.findRepository(old)).toMatchObject({ repository: { path: github.repository } });
    front.inject('POST', '/repos/platform/catalog/keys', answering(307, { location: `${front.url}/api/v3/x` }));
    const call = host.addDeployKey(github.repository, { label: 'demo', publicKey: newPublicKey() });
    await failsWith('CONFLICT', call.catch(rethrowCause));
  });

  it("tells a key that an organisation's rule has put out of use", async () => {
    await using host = openUnderTest(github);
    const key = { id: 9, title: 'a key', key: newPublicKey(), read_only: true };
    const both = [
      { ...key, enabled: false },
      { ...key, id: 10 },
    ];
    github.front.inject('GET', github.keysPath, answering(200, {}, both));
    const listed = await host.listDeployKeys(github.repository);
    expect(listed.state === 'listed' && listed.keys.map(({ enabled }) => enabled)).toEqual([false, true]);
  });

  it('makes repositories of a user where a user has them', async () => {
    await using host = openUnderTest(github, { token: github.tokens.wide });
    github.front.clear();
    expect(await host.createRepository({ owner: 'octocat', name: 'mine' })).toMatchObject({ visibility: 'private' });
    expect(github.front.seen).toContain('POST /api/v3/user/repos');
    github.front.inject('POST', '/orgs/platform/repos', async (response, _, pass) => {
      const body = { ...(JSON.parse((await pass()).body!) as object), private: false, visibility: 'public' };
      answering(201, {}, body)(response, _, pass);
    });
    await failsWith('CONFLICT', host.createRepository({ owner: 'platform', name: 'open' }));
  });

  it('does not take the branch it is sent on to for the one that was asked for', async () => {
    await using host = openUnderTest(github);
    const to = `${github.front.url}/api/v3/repos/platform/catalog/branches/main`;
    github.front.inject('GET', '/branches/master', answering(301, { location: to }));
    expect(await host.branchHead(github.repository, 'master')).toEqual({ state: 'absent' });
  });

  it('refuses an address for Git that could be taken for an option', async () => {
    await using host = openUnderTest(github);
    for (const address of [
      'ssh://-oProxyCommand=touch/x',
      'git@-oProxyCommand=x:a',
      'https://github.com/a/b.git',
      '--x',
    ])
      await failsWith(
        'PROTOCOL_ERROR',
        withSshUrl(github, address, () => host.findRepository(github.repository)),
      );
  });
});

async function withSshUrl<T>(github: GithubUnderTest, address: string, call: () => Promise<T>): Promise<T> {
  github.front.inject('GET', '/repos/platform/catalog', async (response, request, pass) => {
    const body = { ...(JSON.parse((await pass()).body!) as object), ssh_url: address };
    answering(200, {}, body)(response, request, pass);
  });
  return call();
}

/** A key that is refused with a conflict is looked for, and then taken to be in use: the conflict is the cause. */
function rethrowCause(error: unknown): never {
  throw (error as Error).cause;
}
