import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { failsWith } from './fails-with.js';
import { newPublicKey } from './keys.js';
import { openUnderTest, type HostUnderTest } from './host-under-test.js';

/** Repositories, branches and rights, on any host. */
export function repositoryContract(under: () => HostUnderTest): void {
  it('finds a repository, and says so where there is none', async () => {
    await using host = openUnderTest(under());
    const { repository: path } = under();
    const found = await host.findRepository(path);
    expect(found).toMatchObject({
      state: 'found',
      repository: { path, defaultBranch: 'main', visibility: 'private', archived: false },
    });
    expect(found.state === 'found' && found.repository.sshUrl).toMatch(/^(?:ssh:\/\/)?git@[^-].*\.git$/);
    expect(await host.findRepository({ ...path, name: 'nowhere' })).toEqual({ state: 'absent' });
  });

  it('looks up branches, also with a slash, and tells an absent one from an absent repository', async () => {
    await using host = openUnderTest(under());
    const { repository, head } = under();
    expect(await host.branchHead(repository, 'main')).toEqual({ state: 'at', commit: head });
    expect(await host.branchHead(repository, 'release/1')).toEqual({ state: 'at', commit: head });
    expect(await host.branchHead(repository, 'other')).toEqual({ state: 'absent' });
    await failsWith('NOT_FOUND', host.branchHead({ ...repository, name: 'nowhere' }, 'main'));
    for (const name of ['../main', '-main', 'a..b', '', 'a b', 'a\n'])
      await failsWith('INVALID_ARGUMENT', host.branchHead(repository, name));
  });

  it('makes a private repository with a commit, once', async () => {
    const { owner, tokens } = under();
    await using host = openUnderTest(under(), { token: tokens.wide });
    const path = { owner, name: `made-${randomBytes(4).toString('hex')}` };
    expect(await host.createRepository(path)).toMatchObject({ path, visibility: 'private' });
    expect(await host.findRepository(path)).toMatchObject({ state: 'found' });
    expect(await host.branchHead(path, 'main')).toMatchObject({ state: 'at' });
    await failsWith('ALREADY_EXISTS', host.createRepository(path));
  });

  it('refuses names that no host has before it asks anybody', async () => {
    await using host = openUnderTest(under());
    under().front.clear();
    for (const path of [
      { owner: '..', name: 'catalog' },
      { owner: 'platform', name: '..' },
      { owner: 'platform', name: 'a?b' },
      { owner: 'platform', name: 'catalog.git' },
      { owner: '', name: 'catalog' },
    ])
      await failsWith('INVALID_ARGUMENT', host.findRepository(path));
    expect(under().front.seen).toEqual([]);
  });

  it('finds the least rights to be enough and nothing too wide', async () => {
    await using host = openUnderTest(under());
    const before = await under().idsOnHost();
    const { findings } = await host.checkRights({ repository: under().repository, createRepositories: false });
    expect(findings.filter(({ verdict }) => verdict !== 'granted')).toEqual([]);
    expect(findings.length).toBeGreaterThan(0);
    expect(await under().idsOnHost()).toEqual(before);
  });

  it('says what is missing, and what is too wide', async () => {
    const { repository, tokens } = under();
    const verdicts = async (token: string) => {
      await using host = openUnderTest(under(), { token });
      const { findings } = await host.checkRights({ repository, createRepositories: false });
      return findings.map(({ verdict }) => verdict);
    };
    expect(await verdicts(tokens.readOnly)).toContain('missing');
    expect(await verdicts(tokens.wide)).toContain('too-wide');
    expect(await verdicts(tokens.wide)).not.toContain('missing');
  });

  it('tells a token without the right from one that the host does not know', async () => {
    const { repository, tokens } = under();
    const key = { label: 'demo', publicKey: newPublicKey() };
    await using weak = openUnderTest(under(), { token: tokens.readOnly });
    await failsWith('GIT_RIGHTS_MISSING', weak.addDeployKey(repository, key), [tokens.readOnly]);
    const token = 'nobody-knows-this-token-0123456789abcdef';
    await using unknown = openUnderTest(under(), { token });
    const spec = { repository, createRepositories: false };
    await failsWith('GIT_TOKEN_REFUSED', unknown.checkRights(spec), [token]);
    await failsWith('GIT_TOKEN_REFUSED', unknown.findRepository(repository), [token]);
    await failsWith('GIT_TOKEN_REFUSED', unknown.listDeployKeys(repository), [token]);
    await failsWith('GIT_TOKEN_REFUSED', unknown.addDeployKey(repository, key), [token]);
  });
}
