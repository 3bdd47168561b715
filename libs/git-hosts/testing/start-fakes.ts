import { testAuthority } from '@fairlead/testing';
import { HEAD } from './fake-answers.js';
import { FakeGithub } from './fake-github.js';
import { FakeGitlab } from './fake-gitlab.js';
import { startFront } from './front.js';
import type { HostUnderTest } from './host-under-test.js';

export interface GithubUnderTest extends HostUnderTest {
  readonly fake: FakeGithub;
}

export async function startFakeGithub(): Promise<GithubUnderTest> {
  const fake = new FakeGithub();
  const tokens = {
    enough: 'github_pat_enough_0123456789',
    readOnly: 'github_pat_readonly_0123456789',
    wide: 'ghp_classic_0123456789abcdef',
  };
  fake.tokens.set(tokens.enough, { login: 'fairlead-bot', permissions: ['administration=write', 'contents=read'] });
  fake.tokens.set(tokens.readOnly, { login: 'fairlead-bot', permissions: ['administration=read', 'contents=read'] });
  fake.tokens.set(tokens.wide, { login: 'octocat', scopes: 'admin:org, delete_repo, repo' });
  const repo = fake.addRepo('platform', 'catalog');
  const elsewhere = fake.addRepo('platform', 'other');
  return {
    ...(await platformCatalog(fake)),
    kind: 'github',
    fake,
    tokens,
    keysPath: '/repos/platform/catalog/keys',
    addByHand: async ({ title, publicKey, readOnly }) => String(fake.addKey(repo, title, publicKey, readOnly).id),
    idsOnHost: async () => repo.keys.map(({ id }) => String(id)),
    async useElsewhere(publicKey) {
      fake.addKey(elsewhere, 'another', publicKey, true);
    },
  };
}

export interface GitlabUnderTest extends HostUnderTest {
  readonly fake: FakeGitlab;
}

export async function startFakeGitlab(): Promise<GitlabUnderTest> {
  const fake = new FakeGitlab();
  const tokens = {
    enough: 'glpat-enough_0123456789',
    readOnly: 'glpat-readonly_0123456789',
    wide: 'glpat-wide_0123456789abcdef',
  };
  const bot = { username: 'project_12_bot_fairlead', bot: true, level: 40 };
  fake.tokens.set(tokens.enough, { ...bot, scopes: ['api'], expiresAt: '2027-03-01' });
  fake.tokens.set(tokens.readOnly, { ...bot, scopes: ['read_api'] });
  const person = { username: 'sidney', bot: false, isAdmin: true, level: 50 };
  fake.tokens.set(tokens.wide, { ...person, scopes: ['api', 'sudo', 'admin_mode'] });
  const project = fake.addProject('platform/catalog');
  return {
    ...(await platformCatalog(fake)),
    kind: 'gitlab',
    fake,
    tokens,
    keysPath: '/projects/platform%2Fcatalog/deploy_keys',
    async addByHand({ title, publicKey, readOnly }) {
      const key = fake.addKey(title, publicKey, true);
      project.keys.push({ key, canPush: !readOnly });
      return String(key.id);
    },
    idsOnHost: async () => project.keys.map(({ key }) => String(key.id)),
    async useElsewhere(publicKey) {
      fake.addKey('of somebody else', publicKey, false);
    },
  };
}

/** What both fakes have: the repository `platform/catalog`, behind TLS. */
async function platformCatalog({ handle }: FakeGithub | FakeGitlab) {
  const front = await startFront(await testAuthority(), handle);
  const repository = { owner: 'platform', name: 'catalog' };
  return {
    front,
    repository,
    head: HEAD,
    owner: repository.owner,
    [Symbol.asyncDispose]: () => front[Symbol.asyncDispose](),
  };
}
