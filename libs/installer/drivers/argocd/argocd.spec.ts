import type { GitOpsSpec } from '@fairlead/desired-state';
import type { KubeObject } from '@fairlead/kube/rest';
import { describe, expect, it } from 'vitest';
import { parseBundle } from '../../bundle/bundle-shelf.js';
import { createSshKey } from '../../keys/deploy-keys.js';
import { followingNothingNew } from '../../serve.js';
import { bundleOf, HOST_KEY, gitopsSpecOf as fluxSpecOf } from '../../testing/control-plane.js';
import { ED25519, WITH_SUBKEY } from '../../testing/pgp-keys.js';
import { smallArgocdBundle } from '../../testing/small-argocd-bundle.js';
import { argocd } from './argocd.js';
import { otherSpelling } from './sources.js';

const bundle = bundleOf(smallArgocdBundle());
const objects = parseBundle(smallArgocdBundle());
const keys = [1, 2].map((number) => ({ number, ...createSshKey() }));
const gitopsSpecOf = (more: Partial<GitOpsSpec> = {}): GitOpsSpec => fluxSpecOf(bundle, { tool: 'argocd', ...more });
const withSource = (more: Partial<NonNullable<GitOpsSpec['source']>>): GitOpsSpec => {
  const spec = gitopsSpecOf();
  return { ...spec, source: spec.source && { ...spec.source, ...more } };
};
const named = (of: readonly KubeObject[]) => of.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
const find = (of: readonly KubeObject[], name: string) => of.find((object) => named([object])[0] === name);
const specOf = (of: readonly KubeObject[], name: string) => find(of, name)?.['spec'] as Record<string, unknown>;
const textsOf = (of: readonly KubeObject[], name: string): Record<string, string> => {
  const data = (find(of, name)?.['data'] ?? {}) as Record<string, string>;
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]));
};
const rotating = { current: 1, next: 2, currentReady: true, nextReady: true };

describe('the manifest', () => {
  it('is placed in a namespace, which is made for it', () => {
    const adapted = argocd.adapt(objects, gitopsSpecOf());
    expect(named(adapted)).toContain('Namespace argocd');
    expect(find(adapted, 'StatefulSet argocd-application-controller')?.metadata.namespace).toBe('argocd');
    expect(find(adapted, 'NetworkPolicy argocd-repo-server-network-policy')?.metadata.namespace).toBe('argocd');
    for (const name of [
      'ClusterRole argocd-application-controller',
      'CustomResourceDefinition applications.argoproj.io',
    ]) {
      expect(find(adapted, name)?.metadata.namespace).toBeUndefined();
    }
    const own: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'argocd', labels: { a: 'b' } } };
    const twice = argocd.adapt([own, ...objects], gitopsSpecOf()).filter(({ kind }) => kind === 'Namespace');
    expect(twice).toEqual([own]);
  });

  it('has each object once, adapted again too', () => {
    const adapted = argocd.adapt(argocd.adapt(objects, gitopsSpecOf()), gitopsSpecOf());
    const names = named(adapted.filter(({ kind }) => kind !== 'AppProject'));
    expect(new Set(names).size).toBe(names.length);
  });

  it('trusts exactly the approved host keys, and nobody without a source', () => {
    const hosts = (spec: GitOpsSpec) =>
      find(argocd.adapt(objects, spec), 'ConfigMap argocd-ssh-known-hosts-cm')?.['data'];
    expect(hosts(gitopsSpecOf())).toEqual({ ssh_known_hosts: `${HOST_KEY.host} ${HOST_KEY.type} ${HOST_KEY.key}\n` });
    const through = { ...HOST_KEY, host: '[git.example.com]:2222' };
    expect(hosts(withSource({ knownHosts: [through] }))).toEqual({
      ssh_known_hosts: `[git.example.com]:2222 ${HOST_KEY.type} ${HOST_KEY.key}\n`,
    });
    expect(hosts(gitopsSpecOf({ source: null }))).toEqual({ ssh_known_hosts: '' });
    const bare = objects.filter(({ metadata }) => metadata.name !== 'argocd-ssh-known-hosts-cm');
    expect(named(argocd.adapt(bare, gitopsSpecOf()))).toContain('ConfigMap argocd-ssh-known-hosts-cm');
  });

  it('is locked down as Argo CD recommends it, if that is wanted', () => {
    const locked = argocd.adapt(objects, gitopsSpecOf());
    expect(find(locked, 'ConfigMap argocd-cm')?.['data']).toEqual({
      'resource.exclusions': '[]',
      'admin.enabled': 'false',
      'exec.enabled': 'false',
    });
    expect(specOf(locked, 'AppProject default')).toEqual({
      sourceRepos: [],
      sourceNamespaces: [],
      destinations: [],
      namespaceResourceBlacklist: [{ group: '*', kind: '*' }],
    });
    const open = argocd.adapt(objects, gitopsSpecOf({ lockdown: false }));
    expect(find(open, 'ConfigMap argocd-cm')?.['data']).toEqual({ 'resource.exclusions': '[]' });
    expect(specOf(open, 'AppProject default')).toMatchObject({ sourceRepos: ['*'] });
  });

  it('looks at the repository as often as is wanted', () => {
    const environmentOf = (name: string) => {
      const spec = specOf(argocd.adapt(objects, withSource({ intervalSeconds: 30 })), name) as {
        template: { spec: { containers: { env: unknown[] }[] } };
      };
      return spec.template.spec.containers[0]?.env;
    };
    expect(environmentOf('StatefulSet argocd-application-controller')).toEqual([
      { name: 'OTHER', value: 'kept' },
      { name: 'ARGOCD_RECONCILIATION_TIMEOUT', value: '30s' },
      { name: 'ARGOCD_RECONCILIATION_JITTER', value: '3s' },
      { name: 'ARGOCD_REPO_ERROR_GRACE_PERIOD_SECONDS', value: '30s' },
    ]);
    expect(environmentOf('Deployment argocd-repo-server')).toEqual([
      { name: 'OTHER', value: 'kept' },
      { name: 'ARGOCD_RECONCILIATION_TIMEOUT', value: '30s' },
    ]);
  });
});

describe('the objects that follow a catalog', () => {
  it('are none before the Git host has the key', () => {
    const deployKey = { current: 1, next: null, currentReady: false, nextReady: false };
    expect(argocd.sources(gitopsSpecOf({ deployKey }), keys)).toEqual([]);
    expect(argocd.sources(gitopsSpecOf({ source: null }), keys)).toEqual([]);
  });

  it('are a project, a key and an Application', () => {
    const found = argocd.sources(gitopsSpecOf(), keys);
    expect(named(found)).toEqual([
      'AppProject fairlead-catalog',
      'Secret fairlead-catalog',
      'Application fairlead-catalog',
    ]);
    const url = 'ssh://git@git.example.com/fleet/demo.git';
    expect(specOf(found, 'AppProject fairlead-catalog')).toMatchObject({
      sourceRepos: [url],
      destinations: [{ server: 'https://kubernetes.default.svc', namespace: '*' }],
    });
    expect(specOf(found, 'AppProject fairlead-catalog')).not.toHaveProperty('signatureKeys');
    expect(find(found, 'Secret fairlead-catalog')?.metadata.labels).toEqual({
      'argocd.argoproj.io/secret-type': 'repository',
    });
    expect(textsOf(found, 'Secret fairlead-catalog')).toEqual({
      type: 'git',
      url,
      sshPrivateKey: keys[0]?.privateKey,
      project: 'fairlead-catalog',
    });
    expect(specOf(found, 'Application fairlead-catalog')).toMatchObject({
      project: 'fairlead-catalog',
      source: { repoURL: url, targetRevision: 'main', path: 'clusters/demo' },
      syncPolicy: { automated: { prune: true, selfHeal: true } },
    });
  });

  it('try the next key beside the current one, under another spelling of the address', () => {
    const found = argocd.sources(gitopsSpecOf({ deployKey: rotating }), keys);
    const url = 'ssh://git@git.example.com/%66leet/demo.git';
    expect(textsOf(found, 'Secret fairlead-catalog')).toMatchObject({ sshPrivateKey: keys[0]?.privateKey });
    expect(textsOf(found, 'Secret fairlead-probe')).toMatchObject({ url, sshPrivateKey: keys[1]?.privateKey });
    expect(specOf(found, 'AppProject fairlead-catalog')).toMatchObject({
      sourceRepos: ['ssh://git@git.example.com/fleet/demo.git', url],
    });
    const probe = specOf(found, 'Application fairlead-probe');
    expect(probe).toMatchObject({ source: { repoURL: url, directory: { include: 'fairlead-none' } } });
    expect(probe).not.toHaveProperty('syncPolicy');
  });

  it('stand still when they are suspended', () => {
    const application = find(argocd.sources(gitopsSpecOf({ suspend: true }), keys), 'Application fairlead-catalog');
    expect(application?.metadata.annotations).toMatchObject({ 'argocd.argoproj.io/skip-reconcile': 'true' });
    expect(application?.['spec']).not.toHaveProperty('syncPolicy.automated');
  });

  it('demand signatures of commits by the keys that were given, and by their subkeys', () => {
    const verification = {
      type: 'gpg' as const,
      keys: [
        { name: 'ada', publicKey: ED25519.publicKey },
        { name: 'bob', publicKey: WITH_SUBKEY.publicKey },
      ],
    };
    const spec = withSource({ verification });
    expect(argocd.objection(spec)).toBeNull();
    expect(specOf(argocd.sources(spec, keys), 'AppProject fairlead-catalog')).toMatchObject({
      signatureKeys: [{ keyID: ED25519.id }, { keyID: WITH_SUBKEY.id }, { keyID: WITH_SUBKEY.subkey }],
    });
    const adapted = argocd.adapt(objects, spec);
    expect(find(adapted, 'ConfigMap argocd-gpg-keys-cm')?.['data']).toEqual({
      [ED25519.id]: ED25519.publicKey,
      [WITH_SUBKEY.id]: WITH_SUBKEY.publicKey,
    });
    // Where somebody turned it off, no signature would be looked at.
    expect(JSON.stringify(find(adapted, 'Deployment argocd-repo-server'))).toContain(
      '{"name":"ARGOCD_GPG_ENABLED","value":"true"}',
    );
  });

  it('are objected to where signatures are demanded that Argo CD cannot verify', () => {
    for (const [type, publicKey] of [
      ['ssh', keys[0]?.publicKey ?? ''],
      ['gpg', ED25519.publicKey + WITH_SUBKEY.publicKey],
    ] as const) {
      const spec = withSource({ verification: { type, keys: [{ name: 'ada', publicKey }] } });
      expect(argocd.objection(spec)).toMatchObject({ code: 'VERIFICATION_UNSUPPORTED' });
      const found = argocd.sources(followingNothingNew({ ...spec, deployKey: rotating }), keys);
      expect(named(found)).not.toContain('Application fairlead-probe');
      expect(find(found, 'Application fairlead-catalog')?.metadata.annotations).toMatchObject({
        'argocd.argoproj.io/skip-reconcile': 'true',
      });
      // Other Applications of the project go on: without keys, they would follow what nobody signed.
      expect(specOf(found, 'AppProject fairlead-catalog')).toMatchObject({
        signatureKeys: [{ keyID: '0000000000000000' }],
      });
    }
  });
});

it.each([
  ['ssh://git@h:2222/Fleet/demo.git', 'ssh://git@h:2222/%46leet/demo.git'],
  ['ssh://git@h/1/z', 'ssh://git@h/1/%7a'],
])('another spelling of %s is the same address', (url, other) => {
  expect(otherSpelling(url)).toBe(other);
  expect(decodeURIComponent(new URL(other).pathname)).toBe(new URL(url).pathname);
});

it('a path without a letter has no other spelling', () => {
  expect(otherSpelling('ssh://git@h/1/2')).toBeNull();
});

it('an Application lets go of what it deployed, or takes it along, as is wanted', () => {
  const ref = {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    namespace: 'argocd',
    name: 'fairlead-catalog',
  };
  expect(argocd.released(ref)).toEqual({ metadata: { finalizers: [] } });
  expect(argocd.emptied(ref)).toEqual({
    metadata: {
      finalizers: ['resources-finalizer.argocd.argoproj.io'],
      annotations: { 'argocd.argoproj.io/skip-reconcile': null },
    },
  });
  expect([argocd.released({ ...ref, name: 'theirs' }), argocd.emptied({ ...ref, kind: 'AppProject' })]).toEqual([
    null,
    null,
  ]);
});

it('what is trusted and followed is left to nobody', () => {
  const ref = (kind: string, name: string, namespace = 'argocd') => ({ apiVersion: 'v1', kind, name, namespace });
  expect(argocd.isOursAlone(ref('ConfigMap', 'argocd-ssh-known-hosts-cm'), gitopsSpecOf())).toBe(true);
  expect(argocd.isOursAlone(ref('AppProject', 'default'), gitopsSpecOf())).toBe(true);
  expect(argocd.isOursAlone(ref('Secret', 'fairlead-catalog'), gitopsSpecOf())).toBe(true);
  expect(argocd.isOursAlone(ref('ConfigMap', 'argocd-cm'), gitopsSpecOf())).toBe(false);
  expect(argocd.isOursAlone(ref('Secret', 'fairlead-catalog', 'theirs'), gitopsSpecOf())).toBe(false);
  // Without lockdown there is nothing to defend in it.
  expect(argocd.isOursAlone(ref('AppProject', 'default'), gitopsSpecOf({ lockdown: false }))).toBe(false);
  expect(argocd.isOursAlone(ref('AppProject', 'fairlead-catalog'), gitopsSpecOf({ lockdown: false }))).toBe(true);
});
