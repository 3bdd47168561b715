import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startKubernetes, type KubeInfo, type Running } from '@fairlead/testbed';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { createLease, createSecretStore } from './in-cluster.js';
import {
  accessFromKubeconfig,
  createKubeApi,
  createObjects,
  type KubeApi,
  type KubeObject,
  type Objects,
} from './rest/index.js';

const directory = mkdtempSync(join(tmpdir(), 'fairlead-kube-'));
const manifest = `
apiVersion: v1
kind: Namespace
metadata: { name: store }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: keeper, namespace: store }
---
apiVersion: v1
kind: Secret
metadata: { name: mine, namespace: store }
---
apiVersion: v1
kind: Secret
metadata: { name: other, namespace: store }
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: { name: mine, namespace: store }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: keeper, namespace: store }
rules:
  - { apiGroups: [''], resources: [secrets], resourceNames: [mine], verbs: [get, patch] }
  - { apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [mine], verbs: [get, patch] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: keeper, namespace: store }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: keeper }
subjects: [{ kind: ServiceAccount, name: keeper, namespace: store }]
`;

let kubernetes: Running<KubeInfo>;
let admin: string;
let api: KubeApi;
let objects: Objects;

beforeAll(async () => {
  kubernetes = await startKubernetes({ dataDir: join(directory, 'kubernetes') });
  admin = kubernetes.info.adminKubeconfigPath;
  api = createKubeApi({ access: await accessFromKubeconfig(admin), userAgent: 'test' });
  objects = createObjects(api);
  await applyAll();
});
afterAll(async () => {
  api[Symbol.dispose]();
  await kubernetes.stop();
});

async function applyAll(): Promise<void> {
  for (const document of parseAllDocuments(manifest))
    await objects.apply(document.toJS() as KubeObject, { fieldManager: 'test' });
}

function map(name: string, namespace: string, data: Record<string, string>): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data };
}

const storeOf = async (name: string) => createSecretStore(await inCluster(name));

/** As a pod of the service account `keeper`. */
async function inCluster(name: string): Promise<Parameters<typeof createSecretStore>[0]> {
  const { status } = await api.call<{ status: { token: string } }>({
    method: 'POST',
    path: '/api/v1/namespaces/store/serviceaccounts/keeper/token',
    body: { spec: { audiences: [], expirationSeconds: 600 } },
    what: 'requesting a token',
  });
  const serviceAccountDir = mkdtempSync(join(directory, 'sa-'));
  writeFileSync(join(serviceAccountDir, 'token'), status.token);
  writeFileSync(join(serviceAccountDir, 'ca.crt'), kubernetes.info.caPem);
  const { hostname, port } = new URL(kubernetes.info.url);
  return { host: hostname, port: Number(port), serviceAccountDir, namespace: 'store', name };
}

describe('objects that are applied', () => {
  it('may be applied again', async () => {
    await applyAll();
    expect(await objects.read({ apiVersion: 'v1', kind: 'Namespace', name: 'store' })).not.toBeNull();
  });

  it('are named where the server refuses one', async () => {
    const bad = map('x', 'nowhere', {});
    await expect(objects.apply(bad, { fieldManager: 'test' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('applying ConfigMap nowhere/x') as string,
    });
  });

  it('are refused for a field that another manager owns, and take it over when forced', async () => {
    const said = (key: string): KubeObject => map('shared', 'store', { key });
    await objects.apply(said('one'), { fieldManager: 'one' });
    await expect(objects.apply(said('two'), { fieldManager: 'two' })).rejects.toMatchObject({ code: 'CONFLICT' });
    await objects.apply(said('two'), { fieldManager: 'two', force: true });
  });
});

describe('an object', () => {
  it('is null if it is not there', async () => {
    expect(await objects.read({ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'store', name: 'x' })).toBeNull();
  });
});

describe('createLease', () => {
  it('is held by one of two that reach for it, until that one gives it back', async () => {
    const lease = createLease(await inCluster('mine'));
    const { version, ...empty } = await lease.read();
    expect(empty).toEqual({ holder: '', renewed: '' });
    const both = await Promise.allSettled(['one', 'two'].map((holder) => lease.write(holder, version)));
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(both.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'CONFLICT' } });
    const held = await lease.read();
    expect(['one', 'two']).toContain(held.holder);
    await lease.write(held.holder, held.version);
    const renewed = await lease.read();
    expect(renewed.renewed).not.toBe(held.renewed);
    await lease.write('', renewed.version);
    expect((await lease.read()).holder).toBe('');
    await expect(createLease(await inCluster('other')).read()).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });
});

describe('createSecretStore', () => {
  it('keeps values of the one Secret that the account may touch', async () => {
    const store = await storeOf('mine');
    expect((await store.read()).values).toEqual({});
    await store.write({ key: 'line one\nline two\n', 'tls.crt': 'ä' });
    await store.write({ key: 'new' });
    expect((await store.read()).values).toEqual({ key: 'new', 'tls.crt': 'ä' });
  });

  it('of two that read the same, one writes, and the other is told that it was not the first', async () => {
    const store = await storeOf('mine');
    const { version } = await store.read();
    const both = await Promise.allSettled(['one', 'two'].map((first) => store.write({ first }, version)));
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(both.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'CONFLICT' } });
    const after = await store.read();
    await store.write({ first: '' }, after.version);
    expect((await store.read()).values).toMatchObject({ first: '', key: 'new' });
  });

  it('reports what the account may not do', async () => {
    const store = await storeOf('other');
    await expect(store.read()).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(store.write({ a: 'secret-value' })).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: expect.not.stringContaining('secret-value') as string,
    });
  });

  it('says what is wrong when the API server is away', async () => {
    const store = await storeOf('mine');
    kubernetes.kill('SIGKILL');
    await kubernetes.exited;
    await expect(store.read()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await kubernetes.restart();
    expect((await store.read()).values).toMatchObject({ key: 'new' });
    expect(readFileSync(admin, 'utf8')).toContain('127.0.0.1');
  });
});
