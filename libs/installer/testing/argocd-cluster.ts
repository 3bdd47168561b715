import type { GitOpsSpec } from '@fairlead/desired-state';
import type { KubeObject, ObjectRef } from '@fairlead/kube/rest';
import { afterAll, beforeAll, expect } from 'vitest';
import { readReport } from './cluster.js';
import { bundleOf, gitopsSpecOf, handOver, handoverOf, HOST_KEY, stateOf } from './control-plane.js';
import { startInstalledCluster, type InstalledCluster } from './installed-cluster.js';
import { smallArgocdBundle } from './small-argocd-bundle.js';

export const ARGO = 'argoproj.io/v1alpha1';
export const HOSTS = 'argocd-ssh-known-hosts-cm';
/** What `HOSTS` holds where the catalog is followed. */
export const TRUSTED = { ssh_known_hosts: `${HOST_KEY.host} ${HOST_KEY.type} ${HOST_KEY.key}\n` };
/** A service account of Argo CD that nothing trusts. */
export const SOME_ACCOUNT = inArgocd('v1', 'ServiceAccount', 'argocd-repo-server');

export function inArgocd(apiVersion: string, kind: string, name: string): ObjectRef {
  return { apiVersion, kind, name, namespace: 'argocd' };
}

/** One cluster for the tests of a file, with an installer that has Argo CD to look after. To be called once, outside of tests. */
export function useArgocdCluster() {
  const bundle = bundleOf(smallArgocdBundle());
  let cluster: InstalledCluster;
  let revision = 0;
  beforeAll(async () => {
    cluster = await startInstalledCluster({ bundle });
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  const nextRevision = (): number => (revision += 1);
  const eventsSince = async (sequence: number, step: string): Promise<string[]> => {
    const { events } = await readReport(cluster.objects);
    return events.filter((event) => event.sequence > sequence && event.step === step).map(({ object }) => object);
  };
  return {
    get cluster(): InstalledCluster {
      return cluster;
    },
    /** Hands over the next desired state: Argo CD that follows the catalog, but for what is said. */
    want: async (more: Partial<GitOpsSpec> = {}): Promise<void> => {
      const spec = gitopsSpecOf(bundle, { tool: 'argocd', ...more });
      await handOver(cluster.objects, await handoverOf(cluster.authority, stateOf(nextRevision(), spec)));
    },
    wantRemovalOfEverything: async (): Promise<void> => {
      const state = stateOf(nextRevision(), null, { remove: 'everything' });
      await handOver(cluster.objects, await handoverOf(cluster.authority, state));
    },
    /** What was desired last stands, and nothing is wrong. */
    healthy: (more: Record<string, unknown> = {}) =>
      cluster.report((report) =>
        expect(report).toMatchObject({ phase: 'healthy', appliedRevision: revision, problem: null, ...more }),
      ),
    off: () => cluster.report((report) => expect(report).toMatchObject({ phase: 'off', appliedRevision: revision })),
    read: (...of: Parameters<typeof inArgocd>): Promise<KubeObject | null> => cluster.objects.read(inArgocd(...of)),
    /** Of the installer's newest event. */
    lastSequence: async (): Promise<number> => (await readReport(cluster.objects)).events.at(-1)?.sequence ?? 0,
    restartedSince: (sequence: number) => eventsSince(sequence, 'restarted'),
    appliedSince: (sequence: number) => eventsSince(sequence, 'applied'),
  };
}
export type ArgocdCluster = ReturnType<typeof useArgocdCluster>;
