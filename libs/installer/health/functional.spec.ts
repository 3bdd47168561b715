import type { KubeObject, Objects, ObjectRef } from '@fairlead/kube/rest';
import { keyOf, refOf } from '@fairlead/kube/rest';
import { beforeEach, expect, it } from 'vitest';
import { argocd } from '../drivers/argocd/argocd.js';
import { bundleOf, gitopsSpecOf } from '../testing/control-plane.js';
import { FunctionalProbe } from './functional.js';

const LIMITS = { everyMs: 60_000, answerMs: 90_000 };
const REFRESH = 'argocd.argoproj.io/refresh';
const targets = argocd.probes(gitopsSpecOf(bundleOf('')), []);
const [own, asked] = targets.map(({ ref }) => ref) as [ObjectRef, ObjectRef];
const ANSWER = 'failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = failed to list refs';

let held: Map<string, KubeObject>;
let probe: FunctionalProbe;
beforeEach(() => {
  held = new Map();
  probe = new FunctionalProbe(objects(), LIMITS);
});

/** As much of an API server as a question needs. */
function objects(): Objects {
  const some: Pick<Objects, 'apply' | 'patch' | 'read' | 'remove'> = {
    apply: (object) => {
      held.set(keyOf(refOf(object)), structuredClone(object));
      return Promise.resolve(object);
    },
    patch: (ref, { body }) => {
      const object = at(ref);
      const { annotations } = (body as { metadata: { annotations: Record<string, string> } }).metadata;
      Object.assign(object.metadata, { annotations });
      return Promise.resolve(object);
    },
    read: (ref) => Promise.resolve(held.get(keyOf(ref)) ?? null),
    remove: (ref) => Promise.resolve(held.delete(keyOf(ref))),
  };
  return some as Objects;
}

function at(ref: ObjectRef): KubeObject {
  const object = held.get(keyOf(ref));
  if (!object) throw new Error(`there is no ${ref.name}`);
  return object;
}

/** What the application controller does with an Application that it is asked to refresh. */
function compare(ref: ObjectRef, error: string): void {
  const object = at(ref);
  Object.assign(object.metadata, { annotations: {} });
  Object.assign(object, { status: { conditions: [{ type: 'ComparisonError', message: error }] } });
}

it('asks, waits, and cleans up when all have answered', async () => {
  expect(await probe.observe(targets, 0)).toBe('unproven');
  expect(at(asked).metadata.annotations).toEqual({ [REFRESH]: 'hard' });
  compare(own, 'not permitted');
  compare(asked, ANSWER);
  expect(await probe.observe(targets, 1_000)).toBeNull();
  expect(held.size).toBe(0);
  expect(probe.answeredMs).toBe(1_000);
});

it('a frozen controller is silent alone: whom it would have asked was not asked', async () => {
  await probe.observe(targets, 0);
  expect(await probe.observe(targets, 90_000)).toMatchObject({
    code: 'NOT_RECONCILING',
    workloads: ['argocd-application-controller'],
  });
});

it('a frozen repo-server is told from the controller that could not reach it, and asked again', async () => {
  await probe.observe(targets, 0);
  compare(own, 'not permitted');
  compare(asked, 'rpc error: code = Unavailable desc = connection error: dial tcp: connection refused');
  expect(await probe.observe(targets, 60_000)).toBe('unproven');
  expect(at(asked).metadata.annotations).toEqual({ [REFRESH]: 'hard' });
  expect(await probe.observe(targets, 90_000)).toMatchObject({ workloads: ['argocd-repo-server'] });
  compare(asked, ANSWER);
  expect(await probe.observe(targets, 95_000)).toBeNull();
});
