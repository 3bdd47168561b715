import { DesiredState } from '@fairlead/desired-state';
import { expect, it } from 'vitest';
import { MAX_REVISION_STEP, digestOf, sourceDigest, vouchFor, type LastSigned } from './vouch-for.js';

const key = (letter: string): string => letter.repeat(68);
const addresses = [
  { host: 'git.example.com', port: 22, approvedKeys: [`ssh-ed25519 ${key('A')}`, `ssh-ed25519 ${key('B')}`] },
  { host: 'forge.example.com', port: 2222, approvedKeys: [`ssh-ed25519 ${key('C')}`] },
];

interface Wanted {
  readonly url?: string;
  readonly knownHosts?: readonly { host: string; type: string; key: string }[];
  readonly suspend?: boolean;
  readonly revision?: number;
}

function desired({
  url = 'ssh://git@git.example.com/org/catalog.git',
  knownHosts = [known('git.example.com', 'A')],
  suspend = false,
  revision = 3,
}: Wanted = {}): DesiredState {
  return DesiredState.parse({
    version: 1,
    tenantId: 'default',
    clusterId: '7d0c6a3e-3f0c-4c35-8f0e-5a1f5f0d8a10',
    revision,
    issuedAt: '2026-11-22T10:00:00.000Z',
    gitops: {
      tool: 'flux',
      bundle: { digest: 'a'.repeat(64), version: 'v2.7.3', bytes: 10, compressedBytes: 10 },
      images: {},
      source: { url, branch: 'main', path: '.', knownHosts },
      deployKey: { current: 1, currentReady: true },
      suspend,
    },
  });
}

function known(host: string, letter: string) {
  return { host, type: 'ssh-ed25519', key: key(letter) };
}

function signed(state: DesiredState): LastSigned {
  return { revision: state.revision, document: digestOf(state), source: sourceDigest(state) };
}

const vouching = (state: DesiredState, last?: LastSigned) => () => vouchFor(state, last, addresses);

it('vouches for a source at a Git host of the tenant with keys that are approved there', () => {
  expect(vouching(desired())).not.toThrow();
  expect(
    vouching(desired({ knownHosts: [known('git.example.com', 'A'), known('git.example.com', 'B')] })),
  ).not.toThrow();
  const url = 'ssh://git@forge.example.com:2222/org/catalog.git';
  expect(vouching(desired({ url, knownHosts: [known('[forge.example.com]:2222', 'C')] }))).not.toThrow();
  expect(vouching({ ...desired(), gitops: null })).not.toThrow();
});

it.each(['ssh://git@evil.example.com/org/catalog.git', 'ssh://git@git.example.com.evil.example.com/org/catalog.git'])(
  'does not for one at %s',
  (url) => {
    expect(vouching(desired({ url }))).toThrow('no Git host of this tenant');
  },
);

it('vouches for a way through a Service of the cluster, with keys that are approved for a Git host', () => {
  const host = 'fairlead-egress.fairlead-system.svc';
  const through = (letter: string, at = host) =>
    desired({ url: `ssh://git@${at}:2222/org/catalog.git`, knownHosts: [known(`[${at}]:2222`, letter)] });
  expect(vouching(through('A'))).not.toThrow();
  expect(vouching(through('A', `${host}.cluster.local`))).not.toThrow();
  expect(vouching(through('X'))).toThrow('nobody approved');
  expect(vouching(through('A', `${host}.example.com`))).toThrow('no Git host');
});

it('vouches for another port of a Git host, with keys that are approved for that host', () => {
  const through = (letter: string) =>
    desired({
      url: 'ssh://git@git.example.com:2222/org/catalog.git',
      knownHosts: [known('[git.example.com]:2222', letter)],
    });
  expect(vouching(through('A'))).not.toThrow();
  expect(vouching(through('C'))).toThrow('nobody approved');
  expect(vouching(desired({ url: 'ssh://git@git.example.com:2222/org/catalog.git' }))).toThrow('nobody approved');
});

it('does not for one without a name', () => {
  for (const host of ['[::1]', 'git.example.com:', 'git.example.com:22:22']) {
    expect(vouching(desired({ url: `ssh://git@${host}/org/catalog.git` }))).toThrow('names no host');
  }
});

it.each([
  ['a key that nobody approved', [known('git.example.com', 'A'), known('git.example.com', 'X')]],
  ['a key of another Git host', [known('git.example.com', 'C')]],
  ['a key under another name', [known('git.example.com', 'A'), known('evil.example.com', 'A')]],
])('does not for %s', (_, knownHosts) => {
  expect(vouching(desired({ knownHosts }))).toThrow('nobody approved');
});

it('goes back to no older revision, and leaps to none far ahead', () => {
  const last = signed(desired({ revision: 5 }));
  expect(vouching(desired({ revision: 6 }), last)).not.toThrow();
  // Asked again, because the first answer was lost.
  expect(vouching({ ...desired({ revision: 5 }), issuedAt: '2026-11-22T10:00:01.000Z' }, last)).not.toThrow();
  expect(vouching(desired({ revision: 4 }), last)).toThrow('older');
  expect(vouching({ ...desired({ revision: 4 }), gitops: null }, last)).toThrow('older');
  expect(vouching(desired({ revision: 6 + MAX_REVISION_STEP }), last)).toThrow('above');
  expect(vouching(desired({ revision: 2 ** 48 }))).toThrow('above');
});

it('renews what it signed, and keeps its source while that is suspended, when host keys were withdrawn', () => {
  const before = desired({ knownHosts: [known('git.example.com', 'X')] });
  expect(vouching(before, signed(before))).not.toThrow();
  const next = { ...before, revision: 4 };
  expect(vouching(next, signed(before))).toThrow('nobody approved');
  expect(vouching({ ...next, gitops: { ...before.gitops!, suspend: true } }, signed(before))).not.toThrow();
  expect(vouching(desired({ suspend: true, knownHosts: [known('git.example.com', 'Y')] }), signed(before))).toThrow(
    'nobody approved',
  );
  expect(vouching(desired({ suspend: true, knownHosts: [known('git.example.com', 'X')] }))).toThrow('nobody approved');
});
