import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { kubeconfig, type Kubeconfig } from './kubeconfig.js';
import { mergeKubeconfig } from './merge-kubeconfig.js';

const access = (name: string): Parameters<typeof kubeconfig>[0]['accesses'][number] => ({
  cluster: { name },
  doors: [
    { name: 'a', url: 'https://a.example', byName: `https://${name}.k.example` },
    { name: 'b', url: 'https://b.example' },
  ],
  certificateAuthority: 'PEM',
});
const self = { program: '/node', args: ['/fairlead.js'] };
const made = (...names: string[]): Kubeconfig =>
  kubeconfig({ accesses: names.map(access), server: 'https://api.example', self });
const merge = (text: string, ours = made('demo')): string => mergeKubeconfig(text, ours, '~/.kube/config');
const names = (text: string): unknown[][] => {
  const { clusters, users, contexts } = parse(text) as Kubeconfig;
  return [clusters, users, contexts].map((list) => list.map(({ name }) => name));
};

const THEIRS = `# of my own
apiVersion: v1
kind: Config
preferences: {colors: true}
clusters:
- {name: kind, cluster: {server: "https://127.0.0.1:1"}} # at home
users:
- name: kind
  user: {token: secret}
contexts:
- name: kind
  context: {cluster: kind, user: kind}
current-context: kind
`;

describe('a kubeconfig of ours', () => {
  it('stands beside what is there: no entry, comment or choice of theirs is lost', () => {
    const merged = merge(THEIRS);
    expect(names(merged)).toEqual([
      ['kind', 'demo@a', 'demo@b'],
      ['kind', 'demo@api.example'],
      ['kind', 'demo', 'demo@a', 'demo@b'],
    ]);
    expect(merged).toContain('# of my own');
    expect(merged).toContain('# at home');
    expect(parse(merged)).toMatchObject({ 'current-context': 'kind', preferences: { colors: true } });
  });

  it('merged again is the same, and newer where it changed', () => {
    const once = merge(THEIRS);
    expect(merge(once)).toBe(once);
    const moved = structuredClone(made('demo')) as { clusters: { cluster: { server: string } }[] } & Kubeconfig;
    Object.assign(moved.clusters[0]?.cluster ?? {}, { server: 'https://moved.example/clusters/demo' });
    const again = merge(once, moved);
    expect(names(again)).toEqual(names(once));
    expect(again).toContain('https://moved.example/clusters/demo');
    expect(again).not.toContain('https://a.example');
  });

  it.each([
    ['nothing', ''],
    ['blank lines', '\n\n'],
    ['an empty one', 'apiVersion: v1\nkind: Config\nclusters: null\nusers: []\ncontexts: []\ncurrent-context: ""\n'],
    ['JSON', '{"apiVersion":"v1","kind":"Config","clusters":[],"users":[],"contexts":[]}'],
  ])('goes into %s, where the only cluster is chosen', (_, text) => {
    expect(parse(merge(text))).toMatchObject({ ...made('demo') });
    expect(parse(merge(text, made('demo', 'shop')))['current-context'] || undefined).toBeUndefined();
  });

  it('of two clusters merged one after the other is the one of both', () => {
    const both = merge(merge('', made('demo')), made('shop'));
    expect(names(both)).toEqual(names(merge('', made('demo', 'shop'))));
    expect(merge(both, made('shop', 'demo'))).toBe(both);
  });

  it('takes the place of one from when all clusters of an installation had one user', () => {
    const older = merge(THEIRS).replaceAll('demo@api.example', 'fairlead@api.example');
    const again = merge(older);
    expect(parse(again)).toMatchObject({
      contexts: [{}, { name: 'demo', context: { user: 'demo@api.example' } }, {}, {}],
    });
    expect(() => merge(older.replaceAll('api.example', 'other.example'))).toThrow('not of this installation');
  });
});

describe('an entry of the same name that is somebody else’s', () => {
  const other = kubeconfig({ accesses: [access('demo')], server: 'https://other.example', self });
  it.each([
    ['a context', THEIRS.replace('- name: kind\n  context', '- name: demo\n  context'), 'demo in contexts'],
    ['a context of another installation', mergeKubeconfig('', other, ''), 'demo in contexts'],
    ['a cluster', THEIRS.replace('{name: kind, cluster:', '{name: demo@b, cluster:'), 'demo@b in clusters'],
  ])('is not replaced: %s', (_, text, entry) => {
    expect(() => merge(text)).toThrow(`~/.kube/config has an entry ${entry} that is not of this installation`);
  });
});

describe('what is no kubeconfig', () => {
  it.each([
    ['no YAML', 'clusters: [', 'is no kubeconfig: '],
    ['no map', '- a\n- b\n', 'it is not a map'],
    ['another kind', 'kind: Pod\n', 'its kind is not Config'],
    ['a list that is none', 'clusters: {a: b}\n', 'clusters is not a list'],
    ['a list of other things', 'users: [a]\n', 'users holds something that is not a map'],
  ])('is refused: %s', (_, text, why) => {
    expect(() => merge(text)).toThrow(why);
  });
});

describe('contexts of one cluster', () => {
  it('lead to its own host name where that is asked for, and where there is one', () => {
    const [own] = access('demo').doors;
    const only = { ...access('demo'), doors: own ? [own] : [] };
    const options = { server: 'https://api.example', self, byName: true };
    expect(kubeconfig({ accesses: [only], ...options }).clusters).toMatchObject([
      { name: 'demo@a', cluster: { server: 'https://demo.k.example' } },
    ]);
    expect(() => kubeconfig({ accesses: [access('demo')], ...options })).toThrow('no host names for its clusters');
  });
});
