import type { KubeObject, Objects } from '@fairlead/kube/rest';
import { describe, expect, it } from 'vitest';
import { FIELD_MANAGER } from '../names.js';
import { compare, saysMore } from './compare.js';

const secret = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'flux-system' },
  data: { 'ada.asc': 'b3Vycw==' },
});

/** One that somebody froze, with what he put into it. */
function frozen(desired: KubeObject, added: Record<string, string>): KubeObject {
  const [ours, theirs] = [desired['data'] as object, Object.keys(added)];
  const fieldsOf = (names: string[]) => Object.fromEntries(names.map((name) => [`f:${name}`, {}]));
  const data = theirs.length === 0 ? {} : { 'f:data': fieldsOf(theirs) };
  return {
    ...desired,
    immutable: true,
    data: { ...ours, ...added },
    metadata: {
      ...desired.metadata,
      managedFields: [
        { manager: FIELD_MANAGER, operation: 'Apply', fieldsV1: { 'f:data': fieldsOf(Object.keys(ours)) } },
        { manager: 'kubectl-patch', operation: 'Update', fieldsV1: { ...data, 'f:immutable': {} } },
      ],
    },
  };
}

/** An apply changes nothing in it, and is taken. */
const holding = (live: KubeObject): Objects =>
  ({
    read: () => Promise.resolve(live),
    apply: () => Promise.resolve(live),
    create: (object: KubeObject) => Promise.resolve(object),
  }) as unknown as Objects;

describe('one that somebody froze', () => {
  it.each(['fairlead-catalog', 'fairlead-catalog-signers', 'fairlead-probe'])(
    'with more in it is to be made anew, of what Flux trusts: %s',
    async (name) => {
      const live = frozen(secret(name), { 'mallory.asc': 'dGhlaXJz' });
      expect(await compare(holding(live), secret(name))).toMatchObject({ kind: 'immutable', frozen: true });
    },
  );

  it('with more in it is to be made anew, of what is ours alone', async () => {
    const live = frozen(secret('other'), { more: 'dGhlaXJz' });
    expect(await compare(holding(live), secret('other'), true)).toMatchObject({ kind: 'immutable', frozen: true });
    expect(await compare(holding(live), secret('other'))).toMatchObject({ kind: 'differs' });
  });

  it('as it is desired stays: a rule of the cluster may freeze each one that is made', async () => {
    const live = frozen(secret('fairlead-catalog'), {});
    for (const oursAlone of [false, true]) {
      expect(await compare(holding(live), secret('fairlead-catalog'), oursAlone)).toMatchObject({ kind: 'same' });
    }
  });
});

const object = (more: Record<string, unknown>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'a' },
  ...more,
});
const desired = object({ type: 'Opaque', data: { url: 'x' }, list: [{ a: 1 }] });

it.each([
  ['a field', { data: { url: 'x', insecure: 'y' } }, true],
  ['another value', { data: { url: 'z' } }, false],
  ['fewer', { data: {} }, false],
  ['a field of the object itself', { immutable: true }, true],
  ['an item of a list', { list: [{ a: 1 }, { a: 2 }] }, true],
  ['a field of an item', { list: [{ a: 1, b: 2 }] }, true],
  ['an object in place of a value', { type: { of: 'x' } }, true],
  [
    'what is told of it, or done with it',
    { status: { a: 1 }, operation: { sync: {} }, metadata: { name: 'b', labels: {} } },
    false,
  ],
])('does an object say more than another one? %s', (_what, more, expected) => {
  expect(saysMore({ ...desired, ...more }, desired)).toBe(expected);
});
