import { clusterGitOps, deployKey } from '@fairlead/api/testing';
import type { ClusterGitOps } from '@fairlead/contracts';
import { beforeEach, describe, expect, it } from 'vitest';
import { loggedIn } from './testing/logged-in.js';

const containing = (text: string): string => expect.stringContaining(text) as string;
const since = '2026-11-01T00:00:00.000Z';

const scene = loggedIn();
const { fairlead } = scene;

beforeEach(async () => {
  const host = ['git-host', 'add', 'main', '--kind', 'gitea', '--url', 'https://git.example.com'];
  await fairlead(host, { stdin: 'a-token-of-gitea' });
});

const add = (name: string, ...rest: string[]) =>
  fairlead(['catalog', 'add', name, '--host', 'main', '--repo', `platform/${name}`, ...rest]);

/** Clusters that follow a repository, as the server shows them. */
function follow(repository: string, ...names: string[]): void {
  const key = {
    repository,
    number: 1,
    since,
    nextRotationAt: since,
    rotating: null,
    withdrawing: [],
    withdrawingFrom: [],
  };
  for (const name of names) scene.api.script.statuses.set(name, clusterGitOps(name, { deployKey: key }));
}

function change(name: string, deployKey: Partial<NonNullable<ClusterGitOps['deployKey']>>): void {
  const status = scene.api.script.statuses.get(name)!;
  scene.api.script.statuses.set(name, { ...status, deployKey: { ...status.deployKey!, ...deployKey } });
}

describe('the age of deploy keys', () => {
  it('is bounded where their repository is added, and changed there', async () => {
    expect(await add('catalog', '--rotate-keys-every', '30d')).toMatchObject({ status: 0 });
    expect(scene.api.script.repositories.get('catalog')?.rotateKeysEverySeconds).toBe(30 * 86_400);
    expect(await add('catalog', '--rotate-keys-every', 'never')).toMatchObject({ status: 0 });
    expect((await fairlead(['catalog', 'ls'])).out).toMatch(/\ncatalog +main +platform\/catalog +main +for ever /);
    expect(await add('catalog', '--rotate-keys-every', '0d')).toMatchObject({ status: 2, err: containing('90d') });
    expect(await add('catalog', '--rotate-keys-every', '12h')).toMatchObject({ status: 2 });
    expect(await add('catalog', '--rotate-keys-every', '731d')).toMatchObject({ status: 2 });
  });

  it('is shown, with what becomes of the key next and what is left of those before', async () => {
    await fairlead(['cluster', 'create', 'demo']);
    follow('catalog', 'demo');
    const shown = (await fairlead(['gitops', 'status', 'demo'])).out;
    expect(shown).toMatch(/\ndeploy key +number 1, since 2026-11-01T00:00:00\.000Z\nnext rotation +2026-11-01T/);
    change('demo', { number: 3, since: null, nextRotationAt: null, rotating: 'compromise', withdrawing: [1] });
    const clusterId = scene.api.script.clusters.get('demo')?.id ?? '';
    const problem = { code: 'UNAVAILABLE', message: 'no answer' };
    scene.api.script.deployKeys.push(
      deployKey(clusterId, { number: 1, state: 'removing', problem, instructions: null }),
      deployKey(clusterId, { number: 2, state: 'removed', instructions: 'Remove it yourself.' }),
    );
    const compromised = (await fairlead(['gitops', 'status', 'demo'])).out;
    expect(compromised).toContain('number 3, not in use yet; to be withdrawn: 1\n');
    expect(compromised).toMatch(/next rotation +under way, by compromise\n/);
    expect(compromised).toContain('deploy key 1 is still to be removed from the Git host: UNAVAILABLE: no answer\n');
    expect(compromised).toContain('deploy key 2 is withdrawn. Remove it yourself.\n');
  });
});

describe('gitops rotate-key', () => {
  const all = ['gitops', 'rotate-key', '--all'];

  it('replaces one key, with the old one withdrawn first if it counts as compromised', async () => {
    follow('catalog', 'demo');
    expect((await fairlead(['gitops', 'rotate-key', 'demo'])).out).toBe('demo makes its next deploy key\n');
    expect((await fairlead(['gitops', 'rotate-key', 'demo', '--compromised'])).out).toBe(
      'demo: its keys are withdrawn, and it makes another one\n',
    );
    expect(scene.api.script.rotations).toEqual(['demo demand', 'demo compromise']);
  });

  it('names the clusters that lose the same key', async () => {
    await add('catalog');
    follow('catalog', 'demo', 'web');
    scene.api.script.alsoReplaced = ['restored'];
    expect((await fairlead(['gitops', 'rotate-key', 'demo'])).out).not.toContain('restored');
    expect((await fairlead(['gitops', 'rotate-key', 'demo', '--compromised'])).out).toBe(
      'demo: its keys are withdrawn, and it makes another one\nrestored had the same key: it is withdrawn there, too\n',
    );
    const told = await fairlead([...all, '--repo', 'catalog', '--compromised', '--yes']);
    expect(told.out.match(/restored had the same key/g)).toHaveLength(1);
  });

  it('replaces the keys of all that follow a repository, or a Git host, once somebody saw which these are', async () => {
    await add('catalog');
    await add('other');
    follow('catalog', 'a', 'b', 'c');
    follow('other', 'd');
    change('c', { rotating: 'schedule' });
    scene.api.script.statuses.set('e', clusterGitOps('e'));
    const declined = await fairlead([...all, '--repo', 'catalog'], { terminal: true, stdin: 'n\n' });
    expect(declined).toMatchObject({ status: 0, out: 'nothing rotated\n', err: containing('a\nb\n') });
    expect(declined.err).toContain('these 2 clusters? No fetch fails for it.');
    expect(await fairlead([...all, '--repo', 'catalog'])).toMatchObject({ status: 2, err: containing('--yes') });
    expect(scene.api.script.rotations).toEqual([]);
    expect((await fairlead([...all, '--repo', 'catalog', '--yes'])).out).toMatch(
      /^NAME .*\na +it makes .*\nb +it makes/,
    );
    expect(scene.api.script.rotations.toSorted()).toEqual(['a demand', 'b demand']);
    scene.api.script.rotations.length = 0;
    expect(await fairlead([...all, '--host', 'main', '--compromised', '--yes'])).toMatchObject({ status: 0 });
    const ofHost = ['a', 'b', 'c', 'd'].map((name) => `${name} compromise`);
    expect(scene.api.script.rotations.toSorted()).toEqual(ofHost);
  });

  it('withdraws keys of clusters, too, that follow something else by now, or nothing, while these are still there', async () => {
    await add('catalog');
    await add('other');
    follow('catalog', 'stays');
    follow('other', 'moved', 'elsewhere', 'unassigned');
    change('moved', { withdrawing: [1], withdrawingFrom: ['catalog'] });
    change('unassigned', { repository: null, withdrawing: [1], withdrawingFrom: ['catalog'] });
    scene.api.script.rotations.length = 0;
    expect(await fairlead([...all, '--repo', 'catalog', '--yes'])).toMatchObject({ status: 0 });
    expect(scene.api.script.rotations).toEqual(['stays demand']);
    expect(await fairlead([...all, '--repo', 'catalog', '--compromised', '--yes'])).toMatchObject({ status: 0 });
    const withdrawn = ['moved compromise', 'stays compromise', 'unassigned compromise'];
    expect(scene.api.script.rotations.toSorted()).toEqual(['stays demand', ...withdrawn].toSorted());
  });

  it('says for which clusters it did not work, after it tried all', async () => {
    await add('catalog');
    follow('catalog', 'a', 'b', 'c');
    scene.api.script.rotationsRefused.add('b');
    const told = await fairlead([...all, '--repo', 'catalog', '--yes']);
    expect(told).toMatchObject({ status: 1, err: containing('1 of 3 keys are not being replaced: b') });
    expect(told.out).toMatch(/\nb +CONFLICT: /);
    expect(scene.api.script.rotations.toSorted()).toEqual(['a demand', 'c demand']);
    scene.api.script.rotationsRefused.clear();
  });

  it('wants to know which clusters are meant', async () => {
    await add('catalog');
    expect(await fairlead(['gitops', 'rotate-key'])).toMatchObject({
      status: 2,
      err: containing('rotate-key CLUSTER'),
    });
    expect(await fairlead(all)).toMatchObject({ status: 2, err: containing('--repo CATALOG') });
    expect(await fairlead([...all, 'demo', '--repo', 'catalog'])).toMatchObject({ status: 2 });
    expect(await fairlead(['gitops', 'rotate-key', 'demo', '--repo', 'catalog'])).toMatchObject({ status: 2 });
    expect(await fairlead([...all, '--repo', 'nothing', '--yes'])).toMatchObject({
      status: 1,
      err: containing('fairlead catalog list'),
    });
    const none = await fairlead([...all, '--repo', 'catalog', '--yes'], { terminal: true });
    expect(none).toMatchObject({ status: 0, err: containing('no cluster has a key there') });
  });
});
