import { eventually } from '@fairlead/testing';
import { expect } from 'vitest';
import { ARGO, HOSTS, inArgocd, TRUSTED, type ArgocdCluster } from './argocd-cluster.js';

const SOON = { timeoutMs: 30_000 };
export const CATALOG_SECRET = inArgocd('v1', 'Secret', 'fairlead-catalog');
export const CATALOG = inArgocd(ARGO, 'Application', 'fairlead-catalog');
export const INSECURE = { type: 'merge', body: { data: { insecure: 'dHJ1ZQ==' } } } as const;
export const ELSEWHERE = {
  type: 'merge',
  body: { spec: { sources: [{ repoURL: 'https://git.example.org/other.git', path: '.' }] } },
} as const;

/** Somebody of this field manager changes whom Argo CD trusts; resolves when it is put back. */
export async function trustIsPutBack({ cluster, read }: ArgocdCluster, fieldManager: string): Promise<void> {
  const hosts = { ssh_known_hosts: 'git.example.com ssh-ed25519 AAAA\n' };
  const project = { sourceRepos: ['*'], destinations: [{ server: '*', namespace: '*' }] };
  const change = (of: Parameters<typeof inArgocd>, body: object) =>
    cluster.objects.patch(inArgocd(...of), { type: 'merge', body }, fieldManager);
  await change(['v1', 'ConfigMap', HOSTS], { data: hosts });
  await change([ARGO, 'AppProject', 'default'], { spec: project });
  await eventually(async () => {
    expect((await read('v1', 'ConfigMap', HOSTS))?.['data']).toEqual(TRUSTED);
    expect((await read(ARGO, 'AppProject', 'default'))?.['spec']).toMatchObject({ sourceRepos: [], destinations: [] });
  }, SOON);
}

/** Resolves when what was added with `INSECURE` and `ELSEWHERE` is gone. */
export async function additionsAreTakenAway({ cluster }: ArgocdCluster): Promise<void> {
  await eventually(async () => {
    expect((await cluster.objects.read(CATALOG_SECRET))?.['data']).not.toHaveProperty('insecure');
    expect((await cluster.objects.read(CATALOG))?.['spec']).not.toHaveProperty('sources');
  }, SOON);
}

/** One freezes, between two questions to it; resolves when it and no other was restarted. */
export async function onlyTheFrozenIsRestarted(argocd: ArgocdCluster, name: string, workload: string): Promise<void> {
  const { cluster, healthy, lastSequence, restartedSince } = argocd;
  await healthy();
  const before = await lastSequence();
  // One that freezes in the middle of a question has answered half of it, and another one seems to be silent.
  const question = inArgocd(ARGO, 'Application', 'fairlead-functional');
  for (const isAsked of [true, false]) {
    await eventually(async () => expect((await cluster.objects.read(question)) !== null).toBe(isAsked), SOON);
  }
  cluster.standIn.frozen.add(name);
  await eventually(async () => expect(await restartedSince(before)).toContain(workload), { timeoutMs: 60_000 });
  cluster.standIn.frozen.delete(name);
  await healthy();
  expect(new Set(await restartedSince(before))).toEqual(new Set([workload]));
}
