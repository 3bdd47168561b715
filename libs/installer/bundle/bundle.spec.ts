import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { rewritten, withImages } from './pod-template.js';
import { withLabels } from '../names.js';
import { openBundle, parseBundle } from './bundle-shelf.js';

const yaml = `
apiVersion: v1
kind: ServiceAccount
metadata: { name: a, namespace: n }
---
---
apiVersion: v1
kind: ConfigMap
metadata: { name: b, namespace: n }
data: { k: v }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: c, namespace: n }
spec:
  template:
    spec:
      initContainers: [{ name: i, image: 'ghcr.io/fluxcd/init:v1' }]
      containers: [{ name: m, image: 'ghcr.io/fluxcd/x:v1' }]
status: { replicas: 1 }
`;
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');
const reference = { digest: digestOf(yaml), bytes: Buffer.byteLength(yaml) };

describe('a bundle', () => {
  it('is what its digest says, or nothing', async () => {
    await expect(openBundle(gzipSync(yaml), reference)).resolves.toHaveLength(3);
    await expect(openBundle(gzipSync(`${yaml} `.slice(1)), reference)).rejects.toMatchObject({
      code: 'BUNDLE_WRONG_DIGEST',
    });
  });

  it('is unpacked no further than it may be', async () => {
    const bomb = gzipSync(Buffer.alloc(8 * 2 ** 20));
    await expect(openBundle(bomb, reference)).rejects.toMatchObject({ code: 'BUNDLE_WRONG_DIGEST' });
    await expect(openBundle(Buffer.from('no gzip'), reference)).rejects.toMatchObject({ code: 'BUNDLE_WRONG_DIGEST' });
  });

  it.each([
    ['no YAML', 'a: [', /document 1 is not YAML/],
    ['no object', 'a: b', /document 1 is no Kubernetes object/],
    ['an object twice', `${yaml}---\n${yaml}`, /ServiceAccount n\/a twice/],
    [
      'aliases of aliases',
      `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c]\n`,
      /too many aliases/,
    ],
  ])('is refused with %s', (_what, text, message) => {
    expect(() => parseBundle(text)).toThrow(message);
  });

  it('has no status', () => {
    expect(parseBundle(yaml)[2]).not.toHaveProperty('status');
  });
});

describe('images', () => {
  const rules = [
    { from: 'ghcr.io', to: 'registry.corp/ghcr' },
    { from: 'ghcr.io/fluxcd', to: 'registry.corp/flux/' },
  ];

  it('the longest prefix up to a slash counts', () => {
    expect(rewritten('ghcr.io/fluxcd/x:v1', rules)).toBe('registry.corp/flux/x:v1');
    expect(rewritten('ghcr.io/fluxcd-community/x:v1', rules)).toBe('registry.corp/ghcr/fluxcd-community/x:v1');
    expect(rewritten('quay.io/x@sha256:0', rules)).toBe('quay.io/x@sha256:0');
  });

  it('all containers and service accounts of a bundle get them', () => {
    const [account, , deployment] = withImages(parseBundle(yaml), { rewrite: rules, pullSecret: 'pull' });
    expect(account).toMatchObject({ imagePullSecrets: [{ name: 'pull' }] });
    expect(JSON.stringify(deployment)).not.toContain('ghcr.io/fluxcd');
  });
});

it('labels are added to those that there are', () => {
  const [object] = withLabels(
    [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', labels: { b: 'c' } } }],
    'flux',
  );
  expect(object?.metadata.labels).toEqual({
    b: 'c',
    'app.kubernetes.io/managed-by': 'fairlead',
    'fairlead.dev/bundle': 'flux',
  });
});
