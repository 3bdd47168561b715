import type { KubeObject } from '@fairlead/kube/rest';
import { describe, expect, it } from 'vitest';
import { mayNarrow, narrowing } from './narrowing.js';

const SKIP = 'argocd.argoproj.io/skip-reconcile';
const of = (kind: string, more: Record<string, unknown> = {}, annotations = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name: 'fairlead-catalog-signers', annotations },
  ...more,
});
const spec = (more: Record<string, unknown>) => ({ spec: { url: 'x', ...more } });
const verify = { mode: 'HEAD', secretRef: { name: 'signers' } };
const automated = { syncPolicy: { automated: { prune: true } } };

describe('what lets the tool follow less', () => {
  it.each<[string, KubeObject, KubeObject, unknown]>([
    [
      'a suspended repository',
      of('GitRepository', spec({ suspend: false })),
      of('GitRepository', spec({ suspend: true, url: 'y' })),
      { spec: { suspend: true } },
    ],
    [
      'signatures that are demanded',
      of('GitRepository', spec({})),
      of('GitRepository', spec({ verify, url: 'y' })),
      { spec: { verify } },
    ],
    [
      'what is deployed',
      of('Kustomization', spec({})),
      of('Kustomization', spec({ suspend: true })),
      { spec: { suspend: true } },
    ],
    [
      'signers of a project',
      of('AppProject', spec({ signatureKeys: [{ keyID: 'A' }] })),
      of('AppProject', spec({ signatureKeys: [{ keyID: 'B' }], url: 'y' })),
      { spec: { signatureKeys: [{ keyID: 'B' }] } },
    ],
    [
      'an Application that stands still',
      of('Application', spec(automated), { [SKIP]: 'false' }),
      of('Application', spec({ syncPolicy: {} }), { [SKIP]: 'true' }),
      { metadata: { annotations: { [SKIP]: 'true' } }, spec: { syncPolicy: { automated: null } } },
    ],
    [
      'a signer who counts no more',
      of('Secret', { data: { 'a.asc': 'x', 'b.asc': 'y' } }),
      of('Secret', { data: { 'b.asc': 'z', 'c.asc': 'y' } }),
      { data: { 'a.asc': null } },
    ],
  ])('is %s, and nothing besides', (_what, live, desired, body) => {
    expect(mayNarrow(desired)).toBe(true);
    expect(narrowing(live, desired)).toEqual(body);
    // What is there already is not written again.
    expect(narrowing(desired, desired)).toBeNull();
    const annotations = { ...live.metadata.annotations, 'fairlead.dev/reconcile': 'disabled' };
    const left = { ...live, metadata: { ...live.metadata, annotations } };
    expect([narrowing(left, desired), narrowing(left, desired, true)]).toEqual([null, body]);
  });

  it('is not what lets it go on, or demands no signatures any more', () => {
    const still = of('GitRepository', spec({ suspend: true, verify }));
    expect(narrowing(still, of('GitRepository', spec({ suspend: false })))).toBeNull();
    const skipped = of('Application', spec({}), { [SKIP]: 'true' });
    expect(narrowing(skipped, of('Application', spec(automated), { [SKIP]: 'false' }))).toBeNull();
    expect(narrowing(of('AppProject', spec({ signatureKeys: [] })), of('AppProject', spec({})))).toBeNull();
  });

  it('is not looked for in other objects', () => {
    expect(mayNarrow(of('Deployment'))).toBe(false);
    expect(mayNarrow({ ...of('Secret'), metadata: { name: 'fairlead-catalog' } })).toBe(false);
    expect(narrowing(of('Deployment'), of('Deployment', spec({ suspend: true })))).toBeNull();
  });
});
