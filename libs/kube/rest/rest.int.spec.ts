import { join } from 'node:path';
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
