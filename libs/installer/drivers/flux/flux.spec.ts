import type { GitOpsSpec } from '@fairlead/desired-state';
import type { KubeObject } from '@fairlead/kube/rest';
import { describe, expect, it } from 'vitest';
import { parseBundle } from '../../bundle/bundle-shelf.js';
import { createSshKey } from '../../keys/deploy-keys.js';
import { bundleOf, HOST_KEY, gitopsSpecOf } from '../../testing/control-plane.js';
import { followingNothingNew } from '../../serve.js';
import { smallBundle } from '../../testing/small-bundle.js';
import { flux } from './flux.js';

const bundle = bundleOf(smallBundle());
const keys = [1, 2].map((number) => ({ number, ...createSshKey() }));
const named = (objects: readonly KubeObject[]) => objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
const find = (objects: readonly KubeObject[], name: string) => objects.find((object) => named([object])[0] === name);
const argsOf = (objects: readonly KubeObject[], name: string) => {
  const spec = find(objects, name)?.['spec'] as
    | { template: { spec: { containers: { args: string[] }[] } } }
    | undefined;
  return spec?.template.spec.containers[0]?.args;
};
const textOf = (objects: readonly KubeObject[], name: string, key: string): string => {
  const data = find(objects, name)?.['data'] as Record<string, string> | undefined;
  return Buffer.from(data?.[key] ?? '', 'base64').toString();
};
const withSource = (more: Partial<NonNullable<GitOpsSpec['source']>>): GitOpsSpec => {
  const spec = gitopsSpecOf(bundle);
  return { ...spec, source: spec.source && { ...spec.source, ...more } };
};

describe('the objects that follow a catalog', () => {
  it('are none before the Git host has the key', () => {
    const deployKey = { current: 1, next: null, currentReady: false, nextReady: false };
    expect(flux.sources(gitopsSpecOf(bundle, { deployKey }), keys)).toEqual([]);
    expect(flux.sources(gitopsSpecOf(bundle, { source: null }), keys)).toEqual([]);
  });

  it('trust exactly the approved host keys', () => {
    const objects = flux.sources(gitopsSpecOf(bundle), keys);
    const hosts = textOf(objects, 'Secret fairlead-catalog', 'known_hosts');
    expect(hosts).toBe(`${HOST_KEY.host} ${HOST_KEY.type} ${HOST_KEY.key}\n`);
    expect(textOf(objects, 'Secret fairlead-catalog', 'identity')).toBe(keys[0]?.privateKey);
  });

  it('try the next key beside the current one', () => {
    const deployKey = { current: 1, next: 2, currentReady: true, nextReady: true };
    const objects = flux.sources(gitopsSpecOf(bundle, { deployKey }), keys);
    expect(named(objects)).toEqual([
      'Secret fairlead-catalog',
      'GitRepository fairlead-catalog',
      'Kustomization fairlead-catalog',
      'Secret fairlead-probe',
      'GitRepository fairlead-probe',
    ]);
    expect(textOf(objects, 'Secret fairlead-probe', 'identity')).toBe(keys[1]?.privateKey);
  });

  it('demand signatures of commits by the keys that were given', () => {
    const publicKey = '-----BEGIN PGP PUBLIC KEY BLOCK-----\nnone\n';
    const spec = withSource({ verification: { type: 'gpg', keys: [{ name: 'ada', publicKey }] } });
    const objects = flux.sources(spec, keys);
    expect(find(objects, 'GitRepository fairlead-catalog')?.['spec']).toMatchObject({
      verify: { mode: 'HEAD', secretRef: { name: 'fairlead-catalog-signers' } },
    });
    expect(find(objects, 'Secret fairlead-catalog-signers')?.['data']).toEqual({
      'ada.asc': Buffer.from(publicKey).toString('base64'),
    });
    expect(flux.objection(spec)).toBeNull();
  });

  it('are objected to where signatures are demanded that Flux cannot verify', () => {
    const publicKey = keys[0]?.publicKey ?? '';
    const spec = withSource({ verification: { type: 'ssh', keys: [{ name: 'ada', publicKey }] } });
    expect(flux.objection(spec)).toMatchObject({ code: 'VERIFICATION_UNSUPPORTED' });
    // Nothing that nobody verified is fetched, by no key.
    const deployKey = { current: 1, next: 2, currentReady: true, nextReady: true };
    const objects = flux.sources(followingNothingNew({ ...spec, deployKey }), keys);
    const repositories = objects.filter(({ kind }) => kind === 'GitRepository');
    expect(repositories.map(({ spec }) => spec)).toEqual([expect.objectContaining({ suspend: true })]);
  });

  it('stand still when they are suspended', () => {
    const objects = flux.sources(gitopsSpecOf(bundle, { suspend: true }), keys);
    for (const name of ['GitRepository fairlead-catalog', 'Kustomization fairlead-catalog']) {
      expect(find(objects, name)?.['spec']).toMatchObject({ suspend: true });
    }
  });
});

it('lockdown sets the flags that Flux recommends, once', () => {
  const objects = parseBundle(smallBundle());
  const locked = flux.adapt(flux.adapt(objects, gitopsSpecOf(bundle)), gitopsSpecOf(bundle));
  expect(argsOf(locked, 'Deployment kustomize-controller')).toEqual([
    '--log-level=info',
    '--no-cross-namespace-refs=true',
    '--no-remote-bases=true',
    '--default-service-account=default',
  ]);
  expect(argsOf(locked, 'Deployment source-controller')).toEqual(['--log-level=info']);
  expect(flux.adapt(objects, gitopsSpecOf(bundle, { lockdown: false }))).toEqual(objects);
});

it('a Kustomization lets go of what it deployed, or takes it along, as is wanted', () => {
  const ref = { apiVersion: 'kustomize.toolkit.fluxcd.io/v1', kind: 'Kustomization', name: 'fairlead-catalog' };
  expect(flux.released(ref)).toEqual({ spec: { prune: false, suspend: true } });
  expect(flux.emptied(ref)).toEqual({ spec: { prune: true, suspend: false } });
  expect([flux.released({ ...ref, kind: 'GitRepository' }), flux.emptied({ ...ref, name: 'theirs' })]).toEqual([
    null,
    null,
  ]);
});
