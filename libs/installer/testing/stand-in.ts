import { systemClock } from '@fairlead/clock';
import { FairleadError } from '@fairlead/errors';
import { refOf, type KubeObject, type Objects } from '@fairlead/kube/rest';
import { playArgocd } from './argocd-stand-in.js';

const FLUX = [
  { apiVersion: 'source.toolkit.fluxcd.io/v1', kind: 'GitRepository', by: 'source-controller' },
  { apiVersion: 'kustomize.toolkit.fluxcd.io/v1', kind: 'Kustomization', by: 'kustomize-controller' },
] as const;

/** Rounds ask for all there is: oftener, they would be most of what a test computes. */
const ROUND_MS = 250;

/** Plays the controller manager, Flux and Argo CD where none runs: what makes pods becomes available, and requests are answered. */
export interface StandIn extends AsyncDisposable {
  /** Their requests are answered no more. */
  readonly frozen: Set<string>;
  /** Their Deployments never become available: their images, as a wrong one would. */
  readonly brokenImages: Set<string>;
}

export function startStandIn(objects: Objects): StandIn {
  const stop = new AbortController();
  const frozen = new Set<string>();
  const brokenImages = new Set<string>();
  const round = async (): Promise<void> => {
    for (const kind of ['Deployment', 'StatefulSet']) {
      for (const workload of await objects.list({ apiVersion: 'apps/v1', kind })) {
        await setStatus(objects, workload, workloadStatus(workload, brokenImages));
      }
    }
    for (const { apiVersion, kind, by } of FLUX) {
      if (frozen.has(by)) continue;
      for (const object of await objects.list({ apiVersion, kind }))
        await setStatus(objects, object, fluxStatus(object));
    }
    await playArgocd(objects, frozen);
  };
  const running = (async () => {
    while (!stop.signal.aborted) {
      // What goes away in the middle, or an API server that is not there, is met again in the next round.
      await round().catch((error: unknown) => {
        if (!(error instanceof FairleadError)) throw error;
      });
      await systemClock.sleep(ROUND_MS, stop.signal).catch(() => undefined);
    }
  })();
  return {
    frozen,
    brokenImages,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}

function workloadStatus(workload: KubeObject, brokenImages: ReadonlySet<string>): Record<string, unknown> {
  const spec = workload['spec'] as {
    replicas?: number;
    template: { spec: { containers: readonly { image: string }[] } };
  };
  const works = spec.template.spec.containers.every(
    ({ image }) => ![...brokenImages].some((part) => image.includes(part)),
  );
  const count = works ? (spec.replicas ?? 1) : 0;
  return {
    observedGeneration: workload.metadata.generation,
    replicas: count,
    updatedReplicas: count,
    readyReplicas: count,
    availableReplicas: count,
    ...(workload.kind === 'StatefulSet' ? {} : { conditions: [available(works)] }),
  };
}

function available(works: boolean): Record<string, unknown> {
  const message = works ? 'up' : 'no such image';
  return { type: 'Available', status: works ? 'True' : 'False', reason: 'Scripted', message };
}

function fluxStatus({ metadata }: KubeObject): Record<string, unknown> {
  const requested = metadata.annotations?.['reconcile.fluxcd.io/requestedAt'];
  return {
    observedGeneration: metadata.generation,
    conditions: [{ type: 'Ready', status: 'True', reason: 'Succeeded', message: 'stored' }],
    ...(requested === undefined ? {} : { lastHandledReconcileAt: requested }),
  };
}

async function setStatus(objects: Objects, object: KubeObject, status: Record<string, unknown>): Promise<void> {
  const held = (object['status'] ?? {}) as Record<string, unknown>;
  const same = Object.entries(status).every(([key, value]) => JSON.stringify(held[key]) === JSON.stringify(value));
  if (same) return;
  await objects.patch(refOf(object), { type: 'merge', body: { status }, subresource: 'status' }, 'stand-in');
}
