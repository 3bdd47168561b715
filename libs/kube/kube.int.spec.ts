import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startKubernetes, type KubeInfo, type Running } from '@fairlead/testbed';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { applyManifest, createSecretStore, readObject, requestServiceAccountToken } from './index.js';

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
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: keeper, namespace: store }
rules: [{ apiGroups: [''], resources: [secrets], resourceNames: [mine], verbs: [get, patch] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: keeper, namespace: store }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: keeper }
subjects: [{ kind: ServiceAccount, name: keeper, namespace: store }]
`;

let kubernetes: Running<KubeInfo>;
let admin: string;

beforeAll(async () => {
  kubernetes = await startKubernetes({ dataDir: join(directory, 'kubernetes') });
  admin = kubernetes.info.adminKubeconfigPath;
  await applyManifest(admin, manifest, { fieldManager: 'test' });
});
afterAll(async () => {
  await kubernetes.stop();
});

async function storeOf(name: string): Promise<ReturnType<typeof createSecretStore>> {
  const { token } = await requestServiceAccountToken(admin, {
    namespace: 'store',
    name: 'keeper',
    expirationSeconds: 600,
  });
  const serviceAccountDir = mkdtempSync(join(directory, 'sa-'));
  writeFileSync(join(serviceAccountDir, 'token'), token);
  writeFileSync(join(serviceAccountDir, 'ca.crt'), kubernetes.info.caPem);
  const { hostname, port } = new URL(kubernetes.info.url);
  return createSecretStore({ host: hostname, port: Number(port), serviceAccountDir, namespace: 'store', name });
}

describe('applyManifest', () => {
  it('may be repeated', async () => {
    await applyManifest(admin, manifest, { fieldManager: 'test' });
    expect(await readObject(admin, { apiVersion: 'v1', kind: 'Namespace', name: 'store' })).not.toBeNull();
  });

  it('names the document that the server refuses', async () => {
    const bad = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: x, namespace: nowhere }\n';
    await expect(applyManifest(admin, bad, { fieldManager: 'test' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('applying ConfigMap x') as string,
    });
  });

  it('fails on a field that another manager owns, and takes it over when forced', async () => {
    const text = (value: string): string =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: shared, namespace: store }\ndata: { key: ${value} }\n`;
    await applyManifest(admin, text('one'), { fieldManager: 'one' });
    await expect(applyManifest(admin, text('two'), { fieldManager: 'two' })).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    await applyManifest(admin, text('two'), { fieldManager: 'two', force: true });
  });

  it('refuses text that holds no objects', async () => {
    await expect(applyManifest(admin, 'a: b', { fieldManager: 'test' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});

describe('readObject', () => {
  it('gives null for what is not there', async () => {
    expect(
      await readObject(admin, { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'store', name: 'x' }),
    ).toBeNull();
  });
});

describe('createSecretStore', () => {
  it('keeps values of the one Secret that the account may touch', async () => {
    const store = await storeOf('mine');
    expect(await store.read()).toEqual({});
    await store.write({ key: 'line one\nline two\n', 'tls.crt': 'ä' });
    await store.write({ key: 'new' });
    expect(await store.read()).toEqual({ key: 'new', 'tls.crt': 'ä' });
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
    expect(await store.read()).toMatchObject({ key: 'new' });
    expect(readFileSync(admin, 'utf8')).toContain('127.0.0.1');
  });
});
