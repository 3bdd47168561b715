import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gitHostContract } from './testing/contract.js';
import { failsWith } from './testing/fails-with.js';
import { answering } from './testing/front.js';
import { INSTALLATION, openUnderTest } from './testing/host-under-test.js';
import { newPublicKey } from './testing/keys.js';
import { startFakeGitlab, type GitlabUnderTest } from './testing/start-fakes.js';

gitHostContract('GitLab, as it is documented', startFakeGitlab);

describe('GitLab, and what is only its own', () => {
  let gitlab: GitlabUnderTest;
  beforeAll(async () => {
    gitlab = await startFakeGitlab();
  });
  afterAll(() => gitlab[Symbol.asyncDispose]());

  const rightsOf = async (token: string, createRepositories = false) => {
    await using host = openUnderTest(gitlab, { token });
    return await host.checkRights({ repository: gitlab.repository, createRepositories });
  };
  const lines = ({ findings }: Awaited<ReturnType<typeof rightsOf>>) =>
    findings.map(({ verdict, right }) => `${verdict} ${right}`);

  it("tells a token's scopes, role, kind and expiry", async () => {
    expect(await rightsOf(gitlab.tokens.enough)).toMatchObject({
      account: 'project_12_bot_fairlead',
      expiresAt: new Date('2027-03-01T00:00:00Z'),
    });
    expect(lines(await rightsOf(gitlab.tokens.wide, true))).toEqual([
      'granted api',
      'too-wide sudo',
      'too-wide admin_mode',
      'too-wide administrator',
      'too-wide personal access token',
      'granted Maintainer of the project',
      'too-wide Owner of the project',
      'unverified Maintainer of the group',
    ]);
    const token = 'glpat-developer_0123456789';
    gitlab.fake.tokens.set(token, { username: 'bot', bot: true, level: 30, scopes: ['api'] });
    expect(lines(await rightsOf(token))).toEqual(['granted api', 'missing Maintainer of the project']);
    expect(lines(await rightsOf(gitlab.tokens.readOnly))).toEqual(['missing api']);
    const fine = 'glpat-fine-grained_0123456789';
    gitlab.fake.tokens.set(fine, { username: 'bot', bot: true, level: 40, scopes: ['of_another_kind', 'read_api'] });
    expect(lines(await rightsOf(fine))).toEqual([
      'unverified api',
      'unverified of_another_kind',
      'granted Maintainer of the project',
    ]);
  });

  it('tells an expired token, and which scope a refusal wants', async () => {
    const expired = 'glpat-expired_0123456789';
    gitlab.fake.tokens.set(expired, { username: 'bot', bot: true, level: 40, scopes: ['api'], expired: true });
    await using late = openUnderTest(gitlab, { token: expired });
    await failsWith('GIT_TOKEN_REFUSED', late.findRepository(gitlab.repository), [expired]);
    await using weak = openUnderTest(gitlab, { token: gitlab.tokens.readOnly });
    const call = weak.addDeployKey(gitlab.repository, { label: 'demo', publicKey: newPublicKey() });
    expect((await failsWith('GIT_RIGHTS_MISSING', call)).details).toMatchObject({ acceptedScopes: 'api' });
  });

  it("does not become a sharer of another project's key", async () => {
    await using host = openUnderTest(gitlab);
    const { fake, repository } = gitlab;
    const publicKey = newPublicKey();
    const theirs = fake.addKey('of another team', publicKey, true);
    const other = fake.addProject('platform/other');
    other.keys.push({ key: theirs, canPush: false });
    await failsWith('GIT_KEY_IN_USE', host.addDeployKey(repository, { label: 'demo', publicKey }));
    expect(await gitlab.idsOnHost()).not.toContain(String(theirs.id));
    expect(other.keys).toHaveLength(1);
    expect(fake.keys).toContain(theirs);
  });

  it('keeps a key of ours in one project when it is removed from another', async () => {
    await using host = openUnderTest(gitlab);
    const { fake, repository } = gitlab;
    fake.addProject('platform/nested/second');
    const second = { owner: 'platform/nested', name: 'second' };
    const publicKey = newPublicKey();
    const here = await host.addDeployKey(repository, { label: 'both', publicKey });
    const there = await host.addDeployKey(second, { label: 'both', publicKey });
    expect(there).toMatchObject({ state: 'added', key: { title: `fairlead:${INSTALLATION}:both` } });
    if (here.state === 'by-hand' || there.state === 'by-hand') throw new Error('not by hand');
    const recorded = { id: there.key.id, fingerprint: there.key.fingerprint! };
    expect(await host.removeDeployKey(second, recorded)).toEqual({ state: 'removed' });
    expect(await gitlab.idsOnHost()).toContain(here.key.id);
  });

  it('goes from page to page by the Link header where there is nothing else, and only by its query', async () => {
    await using host = openUnderTest(gitlab);
    const { front, keysPath, repository } = gitlab;
    const key = (id: number) => ({ id, title: `key ${id}`, key: newPublicKey(), can_push: false });
    const link = '<http://gitlab.internal:8080/other?cursor=abc%3D&per_page=100>; rel="next"';
    front.clear();
    front.inject('GET', keysPath, answering(200, { link }, [key(1)]));
    let cursor: string | null = null;
    front.inject('GET', keysPath, (response, request, pass) => {
      cursor = request.query.get('cursor');
      answering(200, {}, [key(2)])(response, request, pass);
    });
    const listed = await host.listDeployKeys(repository);
    expect(listed.state === 'listed' && listed.keys.map(({ id }) => id)).toEqual(['1', '2']);
    expect(cursor).toBe('abc=');
    expect(new Set(front.seen)).toEqual(new Set([`GET /api/v4${keysPath}`]));
  });

  it('tells a key that has expired', async () => {
    await using host = openUnderTest(gitlab);
    const key = { id: 9, title: 'old', key: newPublicKey(), can_push: false };
    const both = [
      { ...key, expires_at: '2020-01-01T00:00:00.000Z' },
      { ...key, id: 10, expires_at: null },
    ];
    gitlab.front.inject('GET', gitlab.keysPath, answering(200, { 'x-next-page': '' }, both));
    const listed = await host.listDeployKeys(gitlab.repository);
    expect(listed.state === 'listed' && listed.keys.map(({ enabled }) => enabled)).toEqual([false, true]);
  });

  it('says what GitLab found wrong', async () => {
    await using host = openUnderTest(gitlab);
    const publicKey = newPublicKey();
    await gitlab.useElsewhere(publicKey);
    const call = host.addDeployKey(gitlab.repository, { label: 'demo', publicKey });
    const { details } = await failsWith('GIT_KEY_IN_USE', call);
    expect(details).toMatchObject({ hostSaid: 'deploy_key.fingerprint_sha256 has already been taken' });
  });
});
