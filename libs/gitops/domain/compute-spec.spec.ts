import { Assignment, type GitHostEntry } from '@fairlead/contracts';
import { describe, expect, it } from 'vitest';
import { newPublicKey } from '../testing/public-key.js';
import { computeSpec, sshUrlOf, type SpecInput, whyNotThrough } from './compute-spec.js';
import { newDeployKeys } from './key-state.js';

const bundle = { digest: 'a'.repeat(64), version: 'v1', bytes: 100, compressedBytes: 50 };
const host: GitHostEntry = {
  id: crypto.randomUUID(),
  name: 'gitea',
  sshHost: 'git.example.com',
  sshPort: 22,
  approvedKeys: [newPublicKey(), newPublicKey()],
};
const repository = {
  name: 'catalog',
  gitHost: 'gitea',
  sshUrl: 'git@elsewhere.example.com:platform/catalog.git',
  defaultBranch: 'trunk',
};

const specFor = (change: Partial<SpecInput> = {}, spec: Partial<Assignment> = {}): ReturnType<typeof computeSpec> =>
  computeSpec({
    clusterName: 'shop',
    assignment: Assignment.parse({
      name: 'all',
      selector: { cluster: 'shop' },
      tool: 'flux',
      bundleVersion: 'v1',
      repository: 'catalog',
      ...spec,
    }),
    bundle,
    repository,
    host,
    keys: newDeployKeys(),
    previous: null,
    holdRepairs: false,
    ...change,
  });

describe('what is wanted of a cluster', () => {
  it('follows its repository where the approved keys are of, below its own path', () => {
    const { gitops, waitsFor } = specFor({}, { path: 'fleet/{cluster}/{cluster}' });
    expect(waitsFor).toBeNull();
    expect(gitops?.source).toMatchObject({
      url: 'ssh://git@git.example.com/platform/catalog.git',
      branch: 'trunk',
      path: 'fleet/shop/shop',
    });
    expect(gitops?.source?.knownHosts.map(({ host: name }) => name)).toEqual(['git.example.com', 'git.example.com']);
    expect(specFor({}, { branch: 'release' }).gitops?.source?.branch).toBe('release');
  });

  it('leaves the source where it is, suspended, while its key was withdrawn before there is another one', () => {
    const key = { number: 2, publicKey: null, byHand: null, held: true } as const;
    const withKey = (ready: boolean) => specFor({ keys: { ...newDeployKeys(), current: { ...key, ready } } }).gitops;
    expect(withKey(false)).toMatchObject({
      source: { branch: 'trunk' },
      suspend: true,
      deployKey: { current: 2, currentReady: true },
    });
    expect(withKey(true)).toMatchObject({ suspend: false, deployKey: { current: 2, currentReady: true } });
    expect(specFor().gitops).toMatchObject({ suspend: false, deployKey: { current: 1, currentReady: false } });
  });

  it('dials the host through what leads to it, and pins the same keys under that address', () => {
    const through = 'fairlead-egress.fairlead-system.svc:2222';
    const source = specFor({ host: { ...host, sshPort: 7_999 } }, { gitThrough: through }).gitops?.source;
    expect(source?.url).toBe(`ssh://git@${through}/platform/catalog.git`);
    const pinned = `[fairlead-egress.fairlead-system.svc]:2222`;
    const keys = host.approvedKeys.map((text) => `${pinned} ${text.split(' ').slice(0, 2).join(' ')}`);
    expect(source?.knownHosts.map(({ host: name, type, key }) => `${name} ${type} ${key}`)).toEqual(keys);
    expect(specFor({}, { gitThrough: 'git.tools.svc:22' }).gitops?.source).toMatchObject({
      url: 'ssh://git@git.tools.svc/platform/catalog.git',
      knownHosts: [{ host: 'git.tools.svc' }, { host: 'git.tools.svc' }],
    });
    expect(specFor({}, { gitThrough: 'git.svc:22' })).toMatchObject({
      gitops: { source: null },
      waitsFor: expect.stringContaining('cannot be dialled through git.svc') as string,
    });
  });

  it.each(['git.svc', 'git.svc:0', 'git.svc:65536', 'Git.svc:22', '-git:22', 'git.svc:22 x', '[::1]:22', 'a@git:22'])(
    'takes %s for no address to go through',
    (gitThrough) => {
      expect(() => specFor({}, { gitThrough })).toThrow('HOST:PORT');
    },
  );

  it('is the tool alone without a repository', () => {
    expect(specFor({ repository: undefined }, { repository: null })).toMatchObject({
      gitops: { source: null, suspend: false },
      waitsFor: null,
    });
  });

  it.each([
    ['a host without approved keys', { host: { ...host, approvedKeys: [] } }, 'approve'],
    ['no host', { host: undefined }, 'the Git host gitea'],
    ['no repository', { repository: undefined }, 'the repository catalog'],
    ['no branch', { repository: { ...repository, defaultBranch: null } }, 'branch'],
    ['an address that is none', { repository: { ...repository, sshUrl: 'https://x/y' } }, 'SSH address'],
  ])('follows nothing new with %s, and freezes what it followed', (_, change, waitsFor) => {
    const fresh = specFor(change);
    expect(fresh).toMatchObject({ gitops: { source: null, suspend: false } });
    expect(fresh.waitsFor).toContain(waitsFor);
    const previous = specFor().gitops;
    expect(specFor({ ...change, previous })).toMatchObject({ gitops: { source: previous?.source, suspend: true } });
  });

  it('is as before where it would not fit, or the bundle is gone', () => {
    const previous = specFor().gitops;
    const keys = Array.from({ length: 3 }, (_, index) => ({ name: `k${index}`, publicKey: 'x'.repeat(16_000) }));
    const large = specFor({ previous }, { verification: { type: 'gpg', keys } });
    expect(large).toMatchObject({ gitops: previous, waitsFor: expect.stringContaining('too large') as string });
    const gone = specFor({ previous, bundle: undefined });
    expect(gone).toMatchObject({ gitops: previous, waitsFor: expect.stringContaining('bundle') as string });
  });
});

it.each([
  ['git@host:platform/catalog.git', 'ssh://git@git.example.com:2222/platform/catalog.git'],
  ['ssh://git@host:22/platform/catalog.git', 'ssh://git@git.example.com:2222/platform/catalog.git'],
  ['git@[::1]:a/b', 'ssh://git@git.example.com:2222/a/b'],
  ['https://host/a/b', null],
  ['git@host', null],
  ['/etc/passwd', null],
])('takes user and path out of %s', (url, expected) => {
  expect(sshUrlOf(url, { sshHost: 'git.example.com', sshPort: 2222 })).toBe(expected);
});

const mail = { name: 'main', sshHost: 'git.example.com' };

it.each([
  undefined,
  'git.example.com:22',
  'git.example.com:7999',
  'fairlead-egress.fairlead-system.svc:2222',
  'fairlead-egress.fairlead-system.svc.cluster.local:2222',
])('%s leads to the Git mail', (through) => {
  expect(whyNotThrough(through, mail)).toBeNull();
});

it.each([
  'git.example.org:22',
  'www.git.example.com:22',
  'fairlead-egress:2222',
  'fairlead-egress.fairlead-system:2222',
  'a.fairlead-egress.fairlead-system.svc:2222',
  '10.0.0.1:22',
])('%s does not, which says what would', (through) => {
  expect(whyNotThrough(through, mail)).toMatch(
    /main cannot be dialled through .*: write git\.example\.com .*\.svc:PORT$/,
  );
});
