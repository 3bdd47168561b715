import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gitHostContract } from './testing/contract.js';
import { openUnderTest } from './testing/host-under-test.js';
import { newPublicKey } from './testing/keys.js';
import { startRealGitea } from './testing/start-gitea.js';

gitHostContract('a real Gitea', startRealGitea);

describe('a real Gitea, and what is only its own', () => {
  let gitea: Awaited<ReturnType<typeof startRealGitea>>;
  beforeAll(async () => {
    gitea = await startRealGitea();
  });
  afterAll(() => gitea[Symbol.asyncDispose]());

  const findingsOf = async (token: string, createRepositories = false) => {
    await using host = openUnderTest(gitea, { token });
    const report = await host.checkRights({ repository: gitea.repository, createRepositories });
    return report.findings.map(({ verdict, right }) => `${verdict} ${right}`);
  };

  it('tells each scope that is missing or too wide, and the administrator', async () => {
    expect(await findingsOf(await gitea.token('write:repository', 'read:user'))).toEqual(['granted write:repository']);
    expect(await findingsOf(gitea.tokens.readOnly)).toEqual(['missing write:repository']);
    expect(await findingsOf(await gitea.token('write:issue', 'read:repository', 'write:notification'))).toEqual([
      'missing write:repository',
      'too-wide read:notification',
      'too-wide read:issue',
    ]);
    expect(await findingsOf(gitea.tokens.wide)).toEqual([
      'too-wide administrator',
      'granted write:repository',
      'too-wide read:admin',
      'too-wide read:notification',
      'too-wide read:issue',
      'too-wide read:organization',
    ]);
  });

  it('tells what making repositories needs', async () => {
    expect(await findingsOf(gitea.tokens.enough, true)).toEqual([
      'granted write:repository',
      'missing read:user',
      'missing write:organization',
    ]);
    const token = await gitea.token('write:repository', 'read:user', 'write:organization');
    expect(await findingsOf(token, true)).toEqual([
      'granted write:repository',
      'granted read:user',
      'unverified write:organization',
    ]);
  });

  it('shares a key between repositories, and removes it from the one that was named', async () => {
    await using host = openUnderTest(gitea, { token: gitea.tokens.wide });
    const second = { owner: 'platform', name: 'second' };
    await host.createRepository(second);
    const publicKey = newPublicKey();
    const here = await host.addDeployKey(gitea.repository, { label: 'demo', publicKey });
    const there = await host.addDeployKey(second, { label: 'demo', publicKey });
    if (here.state === 'by-hand' || there.state === 'by-hand') throw new Error('not by hand');
    await host.removeDeployKey(second, { id: there.key.id, fingerprint: there.key.fingerprint! });
    expect(await gitea.idsOnHost()).toContain(here.key.id);
    expect(await host.listDeployKeys(second)).toEqual({ state: 'listed', keys: [] });
  });

  it('gives fingerprints as ssh-keygen does', async () => {
    await using host = openUnderTest(gitea);
    const added = await host.addDeployKey(gitea.repository, { label: 'print', publicKey: newPublicKey() });
    if (added.state === 'by-hand') throw new Error('not by hand');
    const shown = promisify(execFile)('ssh-keygen', ['-l', '-f', '-']);
    shown.child.stdin?.end(`${added.key.publicKey}\n`);
    expect((await shown).stdout.split(' ')[1]).toBe(added.key.fingerprint);
  });
});
