import { describe, expect, it } from 'vitest';
import { argocdManifest, fluxManifest } from '../testing/manifests.js';
import { inspectBundle } from './inspect-bundle.js';

const inspect = (text: string, tool: 'flux' | 'argocd' = 'flux') => inspectBundle(tool, Buffer.from(text));
const refusal = async (text: string): Promise<string> =>
  inspect(text).then(
    () => 'it was taken',
    (error: { code: string; message: string }) => `${error.code} ${error.message}`,
  );

describe('a bundle', () => {
  it('is an install manifest of its tool, with the images that it pulls', async () => {
    expect(await inspect(`# a comment\n---\n${fluxManifest()}\n---\n`)).toEqual({
      objects: 4,
      images: ['ghcr.io/fluxcd/kustomize-controller:v2.7.3', 'ghcr.io/fluxcd/source-controller:v2.7.3'],
    });
    expect(await inspect(argocdManifest(), 'argocd')).toMatchObject({ images: ['quay.io/argoproj/argocd:v3.1.16'] });
    await expect(inspect(fluxManifest(), 'argocd')).rejects.toMatchObject({
      message: expect.stringContaining('no Deployment argocd-repo-server') as string,
    });
  });

  it.each([
    ['a: [', 'not YAML'],
    ['just text', 'no Kubernetes object'],
    ['kind: Deployment\nmetadata: {name: x}', 'no Kubernetes object'],
    ['a: 1\na: 2', 'not YAML'],
    [fluxManifest().replace(/image:.*/, 'image: 5'), 'no pods'],
    [fluxManifest().replace('name: source-controller', 'name: other'), 'no Deployment source-controller'],
  ])('is refused: %j', async (text, why) => {
    expect(await refusal(text)).toMatch(new RegExp(`^INVALID_ARGUMENT .*${why}`));
  });

  it('is refused if it is not text', async () => {
    await expect(inspectBundle('flux', Uint8Array.of(0xff, 0xfe))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('cannot grow while it is read', async () => {
    const levels = Array.from({ length: 12 }, (_, level) => {
      const before =
        level === 0
          ? '"x"'
          : Array(10)
              .fill(`*l${level - 1}`)
              .join(', ');
      return `l${level}: &l${level} [${before}]`;
    });
    expect(await refusal(levels.join('\n'))).toMatch(/^INVALID_ARGUMENT .*too many aliases/);
  });

  it('has bounds', async () => {
    const object = (at: number) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x${at}}\n---\n`;
    const objects = Array.from({ length: 2_001 }, (_, at) => object(at)).join('');
    expect(await refusal(objects)).toMatch(/^TOO_LARGE .*2000 objects/);
    expect(await refusal(`# ${'x'.repeat(2 * 1_048_576)}`)).toMatch(/^TOO_LARGE .*document 1/);
    await expect(inspectBundle('flux', new Uint8Array(16 * 1_048_576 + 1))).rejects.toMatchObject({
      code: 'TOO_LARGE',
    });
  });
});
