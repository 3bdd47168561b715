import { join } from 'node:path';
import { FairleadError } from '@fairlead/errors';
import { startKubernetes, type KubeInfo, type Running } from '@fairlead/testbed';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  accessFromKubeconfig,
  createKubeApi,
  createObjects,
  type KubeApi,
  type KubeObject,
  type Objects,
} from './index.js';

let scratch: ScratchDir;
let kubernetes: Running<KubeInfo>;
let api: KubeApi;
let objects: Objects;

const map = (name: string, data: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', labels: { test: 'rest' } },
  data,
});
const ref = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name });

beforeAll(async () => {
  scratch = await scratchDir();
  kubernetes = await startKubernetes({ dataDir: join(scratch.path, 'kubernetes'), asProcesses: true });
  api = createKubeApi({ access: await accessFromKubeconfig(kubernetes.info.adminKubeconfigPath), userAgent: 'test' });
  objects = createObjects(api);
});
afterAll(async () => {
  api[Symbol.dispose]();
  await kubernetes.stop();
  await scratch[Symbol.asyncDispose]();
});

describe('objects', () => {
  it('are applied, read, listed and removed, over one connection', async () => {
    for (let at = 0; at < 3; at += 1) {
      const applied = await objects.apply(map('a', { at: String(at) }), { fieldManager: 'test', force: true });
      expect(await objects.read(ref('a'))).toEqual(applied);
      const { uid = '' } = applied.metadata;
      expect(await objects.remove(ref('a'), { uid })).toBe(true);
      expect(await objects.remove(ref('a'))).toBe(false);
      expect(await objects.read(ref('a'))).toBeNull();
    }
  });

  it('are not removed in place of one that came after them', async () => {
    const { metadata } = await objects.create(map('b'));
    await expect(objects.remove(ref('b'), { uid: '0000' })).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await objects.read(ref('b'))).toMatchObject({ metadata: { uid: metadata.uid } });
  });

  it('are not applied over a version that was not read', async () => {
    const { metadata } = await objects.apply(map('f', { at: '1' }), { fieldManager: 'test' });
    await objects.apply(map('f', { at: '2' }), { fieldManager: 'test' });
    const { resourceVersion = '' } = metadata;
    const late = { ...map('f', { at: '3' }), metadata: { ...map('f').metadata, resourceVersion } };
    await expect(objects.apply(late, { fieldManager: 'test', force: true })).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    const patch = { type: 'merge', body: { metadata: { resourceVersion }, data: { at: '4' } } } as const;
    await expect(objects.patch(ref('f'), patch, 'test')).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await objects.read(ref('f'))).toMatchObject({ data: { at: '2' } });
    // What is gone is made anew, whatever version was read.
    await objects.remove(ref('f'));
    await objects.apply(late, { fieldManager: 'test', force: true });
    expect(await objects.remove(ref('f'))).toBe(true);
  });

  it('that are guarded are read, and written only if the guard lets them', async () => {
    let asked = 0;
    const guarded = objects.guarded(() => {
      asked += 1;
      throw new FairleadError('UNAVAILABLE', 'not now');
    });
    expect(await guarded.read(ref('a'))).toBeNull();
    const refused = [
      () => guarded.apply(map('g'), { fieldManager: 'test' }),
      () => guarded.create(map('g')),
      () => guarded.patch(ref('b'), { type: 'merge', body: { data: { a: 'b' } } }, 'test'),
      () => guarded.remove(ref('b')),
    ];
    for (const attempt of refused) await expect(attempt()).rejects.toThrow('not now');
    expect([asked, await objects.read(ref('g'))]).toEqual([refused.length, null]);
    expect(await objects.read(ref('b'))).not.toHaveProperty('data.a');
  });

  it('of a dry run are not there', async () => {
    await objects.apply(map('c'), { fieldManager: 'test', dryRun: true });
    await objects.create(map('c'), true);
    expect(await objects.read(ref('c'))).toBeNull();
  });

  it('are listed in pages, by their metadata alone if that is enough', async () => {
    await objects.create(map('d', { long: 'x'.repeat(100) }));
    const kind = { apiVersion: 'v1', kind: 'ConfigMap' };
    const some = await objects.list(kind, { labelSelector: 'test=rest', metadataOnly: true });
    expect(some.map(({ metadata }) => metadata.name)).toEqual(['b', 'd']);
    expect(some[1]).not.toHaveProperty('data');
    expect(some[1]).toMatchObject(kind);
  });

  it('of a kind that is not served are none', async () => {
    const kind = { apiVersion: 'example.com/v1', kind: 'Thing' };
    expect(await objects.list(kind)).toEqual([]);
    expect(await objects.read({ ...kind, name: 'a' })).toBeNull();
    const thing = { ...kind, metadata: { name: 'a' } };
    await expect(objects.apply(thing, { fieldManager: 'test' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('with a misspelt field are refused', async () => {
    const wrong = { ...map('e'), dtaa: {} };
    await expect(objects.apply(wrong, { fieldManager: 'test' })).rejects.toMatchObject({
      code: 'INTERNAL',
      details: { httpStatus: 500 },
    });
    await expect(objects.create(wrong)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

it('a watch tells of a change', async () => {
  const stop = new AbortController();
  const watching = objects.watch(
    { apiVersion: 'v1', kind: 'ConfigMap' },
    { namespace: 'default', fieldSelector: 'metadata.name=watched' },
    stop.signal,
  );
  const first = watching.next();
  await objects.create(map('watched'));
  expect((await first).value).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'watched' } } });
  stop.abort();
  expect(await watching.next()).toMatchObject({ done: true });
});

it('an API server that is away is UNAVAILABLE', async () => {
  kubernetes.kill('SIGKILL');
  await kubernetes.exited;
  await expect(objects.read(ref('a'))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});
