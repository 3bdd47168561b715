import { systemClock } from '@fairlead/clock';
import { FairleadError } from '@fairlead/errors';
import type { KubeObject, Objects } from '@fairlead/kube/rest';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ObjectResult } from '../apply/reconcile.js';
import { History } from '../report/history.js';
import type { Webhook } from './matching.js';
import { uncalledIn, WebhookWatch } from './webhook-watch.js';

const secret: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a', namespace: 'flux-system' } };
const rules = [{ apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['*'] }];
const nobody = { service: { namespace: 'policies', name: 'nobody' } };
const silence = (name: string) =>
  `Internal error occurred: failed calling webhook "${name}": failed to call webhook: EOF`;

let exempted: string[];
let nowMs: number;
let sentence: string;
let watch: WebhookWatch;

beforeEach(() => {
  exempted = [];
  nowMs = 1_000_000;
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  const webhooks: Webhook[] = [
    { name: 'dead', clientConfig: nobody, rules },
    { name: 'dead-too', clientConfig: nobody, rules },
    { name: 'outside', clientConfig: { url: 'https://policy.example.com/' }, rules },
  ];
  const objects = clusterWith(webhooks);
  watch = new WebhookWatch(objects, clock, new History(() => new Date()), 'fairlead-system', {
    graceMs: 20_000,
    forgetMs: 60_000,
  });
});

/** One configuration for each webhook; no Service; creations end with the sentence. */
function clusterWith(webhooks: readonly Webhook[]): Objects {
  const kind = 'ValidatingWebhookConfiguration';
  const configurations = webhooks.map((webhook) => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: { name: webhook.name, resourceVersion: '1' },
    webhooks: [webhook],
  }));
  const objects: Pick<Objects, 'read' | 'list' | 'create' | 'patch'> = {
    read: () => Promise.resolve(null),
    list: (wanted) => Promise.resolve(wanted.kind === kind ? configurations : []),
    create: () =>
      Promise.reject(new FairleadError('INTERNAL', `creating: ${sentence}`, { details: { httpStatus: 500 } })),
    patch: (ref) => {
      exempted.push(ref.name);
      return Promise.resolve(secret);
    },
  };
  return objects as Objects;
}

/** A write that ends with 500. */
async function blocked(message: string): Promise<string | undefined> {
  sentence = message;
  const ref = { apiVersion: 'v1', kind: 'Secret', namespace: 'flux-system', name: 'a' };
  const error = { code: 'INTERNAL' as const, message, httpStatus: 500 };
  const failed: ObjectResult = { ref, outcome: 'failed', honoured: [], error };
  return (await watch.blocking([failed], [secret], ['flux-system'], true))?.code;
}

describe('our namespaces are exempted', () => {
  it('from the dead webhook that the API server names, after its grace, and from no other', async () => {
    expect(await blocked(silence('dead'))).toBe('WEBHOOK_BLOCKS');
    expect(exempted).toEqual([]);
    nowMs += 20_000;
    expect(await blocked(silence('dead'))).toBe('WEBHOOK_BLOCKS');
    expect(exempted).toEqual(['dead']);
    // The next one has been silent for a moment only.
    await blocked(silence('dead-too'));
    expect(exempted).toEqual(['dead']);
  });

  it('never from one outside of the cluster', async () => {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      expect(await blocked(silence('outside'))).toBe('WEBHOOK_BLOCKS');
      nowMs += 20_000;
    }
    expect(exempted).toEqual([]);
  });

  it('never from one that refuses with the status of silence', async () => {
    const refusal = `admission webhook "dead" denied the request: ${silence('dead')}`;
    for (let attempt = 0; attempt < 3; attempt += 1) {
      expect(await blocked(refusal)).toBe('WEBHOOK_DENIES');
      nowMs += 20_000;
    }
    expect(exempted).toEqual([]);
  });

  it.each([
    ['writes went through in between', () => watch.passed()],
    ['long ago was the last', () => (nowMs += 60_001)],
  ])('not at once, where %s', async (_what, meanwhile) => {
    await blocked(silence('dead'));
    nowMs += 19_000;
    await blocked(silence('dead'));
    meanwhile();
    nowMs += 5_000;
    await blocked(silence('dead'));
    expect(exempted).toEqual([]);
  });
});

it('reads which webhook was not called', () => {
  expect(uncalledIn(`applying Secret a/b: ${silence('x.example.com')}`)).toBe('x.example.com');
  expect(uncalledIn('applying Secret a/b: Internal error occurred: etcd is away')).toBeNull();
});
