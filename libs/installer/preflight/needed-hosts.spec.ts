import { InstallerReport } from '@fairlead/desired-state';
import { expect, it } from 'vitest';
import { parseBundle } from '../bundle/bundle-shelf.js';
import { neededHosts, shownHost } from './needed-hosts.js';

const rules = { rewrite: [], pullSecret: null };
const pod = (...images: string[]) =>
  parseBundle(
    images
      .map(
        (image, at) => `apiVersion: apps/v1
kind: Deployment
metadata: { name: d${at}, namespace: x }
spec: { template: { spec: { containers: [{ name: m, image: '${image}' }] } } }
`,
      )
      .join('---\n'),
  );
const registries = (...images: string[]): string[] =>
  neededHosts(pod(...images), { images: rules, source: null }).map(shownHost);

it('are the registries that nodes pull from, each once', () => {
  expect(registries('ghcr.io/fluxcd/a:v1', 'ghcr.io/fluxcd/b@sha256:00')).toEqual(['ghcr.io']);
  expect(registries('redis:8', 'library/redis', 'docker.io/library/redis')).toEqual(['registry-1.docker.io']);
  expect(registries('localhost/a')).toEqual(['localhost']);
  expect(registries('registry.corp:5000/a:v1')).toEqual(['registry.corp:5000']);
  expect(registries('registry:5000/a:v1')).toEqual(['registry:5000']);
  expect(registries('[::1]:5000/a')).toEqual(['[::1]:5000']);
});

it('are those after rewriting', () => {
  const images = { rewrite: [{ from: 'ghcr.io/fluxcd', to: 'registry.corp/flux' }], pullSecret: null };
  const hosts = neededHosts(pod('ghcr.io/fluxcd/a:v1', 'quay.io/b'), { images, source: null });
  expect(hosts.map(shownHost)).toEqual(['registry.corp', 'quay.io']);
});

it('are no more than a report holds, and nothing that is no host', () => {
  expect(registries('-bad.example/a', 'a.b;x/c', 'a.example:99999/b', 'a.example:0/b')).toEqual([]);
  const many = neededHosts(pod(...Array.from({ length: 40 }, (_, at) => `r${at}.example/x`)), {
    images: rules,
    source: sourceOf('ssh://git@git.example.com:2222/a/b.git'),
  });
  expect(many).toHaveLength(16);
  expect(many[0]).toEqual({ kind: 'git', host: 'git.example.com', port: 2222 });
  const hosts = many.map((each) => ({ kind: each.kind, host: shownHost(each), code: 'REACHABLE', message: '' }));
  const at = new Date(0).toISOString();
  expect(InstallerReport.shape.preflight.safeParse({ at, hosts }).success).toBe(true);
});

it('has the port of SSH for a Git host, unless it says another', () => {
  const git = (url: string) => neededHosts([], { images: rules, source: sourceOf(url) }).map(shownHost);
  expect(git('ssh://git@git.example.com/a/b.git')).toEqual(['git.example.com:22']);
  expect(git('ssh://git@ssh.github.com:443/a/b.git')).toEqual(['ssh.github.com']);
  expect(git('ssh://git@[2001:db8::1]:2222/a.git')).toEqual(['[2001:db8::1]:2222']);
});

function sourceOf(url: string) {
  return {
    url,
    branch: 'main',
    path: '.',
    knownHosts: [],
    intervalSeconds: 60,
    prune: true,
    verification: null,
  };
}
