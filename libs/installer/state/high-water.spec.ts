import type { Objects } from '@fairlead/kube/rest';
import { testAuthority } from '@fairlead/testing';
import { spkiPin } from '@fairlead/pki';
import { expect, it } from 'vitest';
import { CLUSTER_ID, stateOf } from '../testing/control-plane.js';
import { NOTHING_HELD } from './state-keeper.js';
import { raised, readHighWater, type HighWater } from './high-water.js';

const mark: HighWater = { clusterId: CLUSTER_ID, revision: 7, trustVersion: 2, pins: ['a'] };
const withAnnotation = (text: string): Objects => {
  const objects: Pick<Objects, 'read'> = {
    read: ({ apiVersion, kind, name }) =>
      Promise.resolve({ apiVersion, kind, metadata: { name, annotations: { 'fairlead.dev/high-water': text } } }),
  };
  return objects as Objects;
};

it('only rises, and follows the roots', async () => {
  expect(raised(mark, NOTHING_HELD, CLUSTER_ID)).toBeNull();
  expect(raised(mark, { ...NOTHING_HELD, desired: stateOf(6, null) }, CLUSTER_ID)).toBeNull();
  expect(raised(mark, { ...NOTHING_HELD, desired: stateOf(8, null) }, CLUSTER_ID)).toEqual({ ...mark, revision: 8 });
  const { roots } = await testAuthority();
  const rotated = raised(mark, { ...NOTHING_HELD, trustVersion: 3, rootsPem: [...roots] }, CLUSTER_ID);
  expect(rotated).toEqual({ ...mark, trustVersion: 3, pins: roots.map(spkiPin) });
});

it('is of this cluster, and is not passed over where it cannot be read', async () => {
  const objects = withAnnotation(JSON.stringify(mark));
  expect(await readHighWater(objects, CLUSTER_ID)).toEqual(mark);
  expect(await readHighWater(objects, 'another')).toBeNull();
  await expect(readHighWater(withAnnotation('{'), CLUSTER_ID)).rejects.toMatchObject({ code: 'STATE_UNREADABLE' });
});
