import type { KubeObject, Objects, ObjectRef } from '@fairlead/kube/rest';
import { expect, it } from 'vitest';
import { FLUX_FINALIZERS } from '../drivers/argocd/kinds.js';
import { Departures, letGo } from './write.js';

const MINUTE_MS = 60_000;

/** One that the tool holds, which by the API server's clock is being deleted since `atMs`. */
const leaving = (atMs: number, uid = 'one'): KubeObject => ({
  apiVersion: 'source.toolkit.fluxcd.io/v1',
  kind: 'GitRepository',
  metadata: {
    name: 'catalog',
    namespace: 'flux-system',
    uid,
    finalizers: [...FLUX_FINALIZERS, 'example.com/theirs'],
    deletionTimestamp: new Date(atMs).toISOString(),
  },
});

/** What is patched in a namespace that stays. */
function cluster(): { patches: unknown[]; objects: Objects } {
  const patches: unknown[] = [];
  const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'flux-system' } };
  const objects = {
    read: () => Promise.resolve(namespace),
    patch: (ref: ObjectRef, { body }: { body: unknown }) => {
      patches.push(body);
      return Promise.resolve({ ...ref, metadata: { name: ref.name } });
    },
  };
  return { patches, objects: objects as unknown as Objects };
}

it.each([
  ['ahead', -10 * MINUTE_MS],
  ['behind', 10 * MINUTE_MS],
])('the tool has its time to let go, though the clock of this machine is %s', async (_what, offMs) => {
  let nowMs = 5_000;
  const departures = new Departures({ monotonicMs: () => nowMs });
  const { patches, objects } = cluster();
  const live = leaving(Date.now() + offMs);
  await letGo(objects, live, departures);
  nowMs += 29_000;
  await letGo(objects, live, departures);
  expect(patches).toEqual([]);
  nowMs += 1_000;
  await letGo(objects, live, departures);
  expect(patches).toEqual([{ metadata: { finalizers: ['example.com/theirs'] } }]);
});

it('another one of the same name has its own time', async () => {
  let nowMs = 0;
  const departures = new Departures({ monotonicMs: () => nowMs });
  const { patches, objects } = cluster();
  await letGo(objects, leaving(Date.now()), departures);
  nowMs += MINUTE_MS;
  const second = leaving(Date.now(), 'two');
  await letGo(objects, second, departures);
  departures.forget({ apiVersion: second.apiVersion, kind: second.kind, name: 'catalog', namespace: 'flux-system' });
  nowMs += MINUTE_MS;
  await letGo(objects, second, departures);
  expect(patches).toEqual([]);
});
