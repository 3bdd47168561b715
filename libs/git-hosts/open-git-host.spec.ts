import { describe, expect, it } from 'vitest';
import { openGitHost, parseSshPublicKey } from './index.js';
import { failsWith } from './testing/fails-with.js';
import { newPublicKey } from './testing/keys.js';

const token = 'a-token-0123456789';
const openLater = async (options: object) =>
  openGitHost({ kind: 'gitea', url: 'https://git.example.com', token, installation: 'one', ...options });

describe('opening a Git host', () => {
  it('refuses addresses that would show the token, and tokens that no header carries', async () => {
    for (const url of [
      'http://git.example.com',
      'https://me:pw@git.example.com',
      'https://x/?a=b',
      'git.example.com',
      '',
    ])
      await failsWith('INVALID_ARGUMENT', openLater({ url }), [token]);
    for (const bad of ['', 'short', 'two words', 'line\nbreak', 'x'.repeat(2_000), 'ünicode-token'])
      await failsWith('INVALID_ARGUMENT', openLater({ token: bad }));
    for (const installation of ['', 'Upper', 'a:b', '-a', 'a'.repeat(41)])
      await failsWith('INVALID_ARGUMENT', openLater({ installation }));
  });
});

describe('a host that is looked after by hand', () => {
  const repository = { owner: 'platform', name: 'catalog' };

  it('says what to do, and knows nothing', async () => {
    await using host = openGitHost({ kind: 'manual', installation: 'one' });
    const publicKey = newPublicKey();
    expect(await host.findRepository(repository)).toEqual({ state: 'unknown' });
    expect(await host.listDeployKeys(repository)).toEqual({ state: 'unknown' });
    expect(await host.branchHead(repository, 'main')).toEqual({ state: 'unknown' });
    expect(await host.checkRights({ repository, createRepositories: false })).toMatchObject({ findings: [] });
    expect(await host.addDeployKey(repository, { label: 'demo', publicKey: `${publicKey} comment` })).toEqual({
      state: 'by-hand',
      title: 'fairlead:one:demo',
      publicKey,
      instructions:
        'Add this key to platform/catalog as a deploy key that may only read, with the title fairlead:one:demo.',
    });
    const { fingerprint } = parseSshPublicKey(publicKey)!;
    expect(await host.removeDeployKey(repository, { id: '1', fingerprint })).toMatchObject({
      instructions: `Remove the deploy key with the fingerprint ${fingerprint} from platform/catalog.`,
    });
  });

  it('makes no repository, and takes no text that it would have to show', async () => {
    await using host = openGitHost({ kind: 'manual', installation: 'one' });
    await failsWith('INVALID_ARGUMENT', host.createRepository(repository));
    await failsWith('INVALID_ARGUMENT', host.removeDeployKey(repository, { id: '1', fingerprint: 'all of them' }));
    const evil = { owner: 'a', name: 'b\nand then' };
    await failsWith('INVALID_ARGUMENT', host.addDeployKey(evil, { label: 'demo', publicKey: newPublicKey() }));
  });
});
