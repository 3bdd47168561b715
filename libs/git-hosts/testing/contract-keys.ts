import { expect, it } from 'vitest';
import { parseSshPublicKey } from '../ssh-public-key.js';
import type { DeployKey, GitHost } from '../git-host.js';
import { failsWith } from './fails-with.js';
import { INSTALLATION, openUnderTest, type HostUnderTest } from './host-under-test.js';
import { newPublicKey } from './keys.js';

/** Deploy keys, on any host. */
export function keyContract(under: () => HostUnderTest): void {
  it('adds a key that may only read, and finds it there the second time', async () => {
    await using host = openUnderTest(under());
    const { repository } = under();
    const publicKey = newPublicKey();
    const title = `fairlead:${INSTALLATION}:demo-1`;
    const { fingerprint } = parseSshPublicKey(publicKey)!;
    const added = await host.addDeployKey(repository, { label: 'demo-1', publicKey: `${publicKey} a comment` });
    expect(added).toMatchObject({ state: 'added', key: { title, fingerprint, readOnly: true, ours: true, publicKey } });
    expect(await host.addDeployKey(repository, { label: 'demo-1', publicKey })).toMatchObject({ state: 'present' });
    expect(keyOf(added).id).toBe((await find(host, under(), publicKey))?.id);
    expect(await under().idsOnHost()).toContain(keyOf(added).id);
  });

  it('removes what it added and nothing else, and is content when it is gone', async () => {
    await using host = openUnderTest(under());
    const { repository } = under();
    const added = keyOf(await host.addDeployKey(repository, { label: 'demo-2', publicKey: newPublicKey() }));
    const recorded = { id: added.id, fingerprint: added.fingerprint! };
    const others = (await under().idsOnHost()).filter((id) => id !== added.id);
    expect(await host.removeDeployKey(repository, recorded)).toEqual({ state: 'removed' });
    expect(await host.removeDeployKey(repository, recorded)).toEqual({ state: 'gone' });
    expect(await under().idsOnHost()).toEqual(others);
  });

  it('never removes a key that title, number and fingerprint do not all call ours', async () => {
    await using host = openUnderTest(under());
    const { repository } = under();
    const byHand = newPublicKey();
    const other = `fairlead:${INSTALLATION}-2:demo`;
    const foreign = [
      { title: 'laptop', publicKey: byHand, readOnly: true },
      { title: other, publicKey: newPublicKey(), readOnly: true },
    ];
    for (const key of foreign) {
      const id = await under().addByHand(key);
      const { fingerprint } = parseSshPublicKey(key.publicKey)!;
      await failsWith('CONFLICT', host.removeDeployKey(repository, { id, fingerprint }));
      expect(await under().idsOnHost()).toContain(id);
    }
    const ours = keyOf(await host.addDeployKey(repository, { label: 'demo-3', publicKey: newPublicKey() }));
    const { fingerprint } = parseSshPublicKey(byHand)!;
    await failsWith('CONFLICT', host.removeDeployKey(repository, { id: ours.id, fingerprint }));
    await failsWith('INVALID_ARGUMENT', host.removeDeployKey(repository, { id: `${ours.id}/..`, fingerprint }));
    expect(await under().idsOnHost()).toContain(ours.id);
  });

  it('leaves a key that somebody added by hand, and takes it for present', async () => {
    await using host = openUnderTest(under());
    const publicKey = newPublicKey();
    const id = await under().addByHand({ title: 'by hand', publicKey, readOnly: true });
    const present = await host.addDeployKey(under().repository, { label: 'demo-4', publicKey });
    expect(present).toMatchObject({ state: 'present', key: { id, ours: false, title: 'by hand' } });
  });

  it('does not take a key that may write for one that may only read', async () => {
    await using host = openUnderTest(under());
    const publicKey = newPublicKey();
    const id = await under().addByHand({ title: 'may write', publicKey, readOnly: false });
    await failsWith('CONFLICT', host.addDeployKey(under().repository, { label: 'demo-5', publicKey }));
    expect(await under().idsOnHost()).toContain(id);
  });

  it('says that a key is in use elsewhere, and adds nothing', async () => {
    await using host = openUnderTest(under());
    const publicKey = newPublicKey();
    await under().useElsewhere(publicKey);
    const before = await under().idsOnHost();
    const call = host.addDeployKey(under().repository, { label: 'demo-6', publicKey });
    await failsWith('GIT_KEY_IN_USE', call, [under().tokens.enough]);
    expect(await under().idsOnHost()).toEqual(before);
  });

  it('lists all keys of many pages, once each', async () => {
    await using host = openUnderTest(under());
    for (let number = 0; number < 105; number++)
      await under().addByHand({ title: `page ${number}`, publicKey: newPublicKey(), readOnly: true });
    under().front.clear();
    const listed = await host.listDeployKeys(under().repository);
    const ids = listed.state === 'listed' ? listed.keys.map(({ id }) => id) : [];
    expect(ids.toSorted()).toEqual((await under().idsOnHost()).toSorted());
    expect(new Set(ids).size).toBe(ids.length);
    expect(under().front.seen.length).toBeGreaterThan(2);
  });

  it('refuses keys of other types, and labels that are more than a name', async () => {
    await using host = openUnderTest(under());
    const { repository } = under();
    const publicKey = newPublicKey();
    const wrong = [
      { label: 'demo', publicKey: 'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAQQ==' },
      { label: 'demo', publicKey: publicKey.slice(0, -4) },
      { label: 'demo', publicKey: `${publicKey}\nssh-ed25519 AAAA` },
      { label: 'demo:evil', publicKey },
      { label: '', publicKey },
    ];
    for (const key of wrong) await failsWith('INVALID_ARGUMENT', host.addDeployKey(repository, key));
  });

  it('says that a repository is not there instead of having no keys', async () => {
    await using host = openUnderTest(under());
    const nowhere = { ...under().repository, name: 'nowhere' };
    await failsWith('NOT_FOUND', host.listDeployKeys(nowhere));
    await failsWith('NOT_FOUND', host.addDeployKey(nowhere, { label: 'demo', publicKey: newPublicKey() }));
    const { fingerprint } = parseSshPublicKey(newPublicKey())!;
    await failsWith('NOT_FOUND', host.removeDeployKey(nowhere, { id: '1', fingerprint }));
  });
}

function keyOf(result: Awaited<ReturnType<GitHost['addDeployKey']>>): DeployKey {
  if (result.state === 'by-hand') throw new Error('nobody asked for a key to be added by hand');
  return result.key;
}

async function find(host: GitHost, { repository }: HostUnderTest, publicKey: string): Promise<DeployKey | undefined> {
  const listed = await host.listDeployKeys(repository);
  return listed.state === 'listed' ? listed.keys.find((key) => key.publicKey === publicKey) : undefined;
}
