import type { KubeObject, ObjectRef } from '@fairlead/kube/rest';
import type { SourceState } from '@fairlead/desired-state';
import { LABELS, OWNER } from '../../names.js';
import { Problem } from '../../problem.js';
import { complaintOf } from '../complaint.js';
import type { ProbeTarget, ToolDriver } from '../driver.js';
import { FLUX_FINALIZERS } from '../argocd/kinds.js';
import { CATALOG, GIT_REPOSITORY, KUSTOMIZATION, NAMESPACE, NEXT, fluxSources } from './sources.js';
import { withContainers } from '../../bundle/pod-template.js';

const SOURCE_CONTROLLER = 'source-controller';
const KUSTOMIZE_CONTROLLER = 'kustomize-controller';
/** An object of ours that nothing is fetched for, for a controller that has nothing else to answer for. */
const PROBE = 'fairlead-functional';
const OUR_LABELS = { [LABELS.managedBy]: OWNER, [LABELS.bundle]: 'flux' };

/** https://fluxcd.io/flux/components/source/gitrepositories/#triggering-a-reconcile */
const REQUEST = 'reconcile.fluxcd.io/requestedAt';
/** Reasons with which Flux turns a commit down: https://fluxcd.io/flux/components/source/gitrepositories/#verification */
const UNVERIFIED: ReadonlySet<string> = new Set(['InvalidCommitSignature', 'InvalidTagSignature', 'VerificationError']);

const named = (kind: { apiVersion: string; kind: string }, name: string) => ({ ...kind, namespace: NAMESPACE, name });

/** Flux, from v2.0: https://fluxcd.io/flux/components/ */
export const flux: ToolDriver = {
  tool: 'flux',
  namespace: NAMESPACE,
  adapt: (bundle, { lockdown }) => (lockdown ? bundle.map(lockedDown) : [...bundle]),
  objection: ({ source }) =>
    source?.verification?.type === 'ssh'
      ? new Problem(
          'VERIFICATION_UNSUPPORTED',
          'Flux verifies OpenPGP signatures of commits only: nothing is followed while SSH signatures are demanded',
        )
      : null,
  sources: (spec, keys) => fluxSources(spec, keys),
  released: (ref) => (isSync(ref) ? { spec: { prune: false, suspend: true } } : null),
  emptied: (ref) => (isSync(ref) ? { spec: { prune: true, suspend: false } } : null),
  read: async (objects, at) => {
    const [repository, kustomization, next] = await Promise.all([
      objects.read(named(GIT_REPOSITORY, CATALOG)),
      objects.read(named(KUSTOMIZATION, CATALOG)),
      objects.read(named(GIT_REPOSITORY, NEXT)),
    ]);
    const [source, sync] = [stateOf(repository, at), stateOf(kustomization, at)];
    return {
      source,
      sync,
      complaint: complaintOf(source, sync, ({ reason }) => UNVERIFIED.has(reason)),
      currentWorks: source?.ready ?? null,
      nextWorks: stateOf(next, at)?.ready ?? null,
    };
  },
  // It never gives up: `retryInterval`.
  tryAgain: () => Promise.resolve(),
  probes: ({ suspend }, sources) => {
    const followed = !suspend && sources.some(({ kind }) => kind === 'GitRepository');
    const name = followed ? CATALOG : PROBE;
    return [
      {
        ref: named(GIT_REPOSITORY, name),
        workload: SOURCE_CONTROLLER,
        ...ECHO,
        ...(followed ? {} : { make: probeRepository() }),
      },
      {
        ref: named(KUSTOMIZATION, name),
        workload: KUSTOMIZE_CONTROLLER,
        ...ECHO,
        ...(followed ? {} : { make: probeSync() }),
      },
    ] satisfies ProbeTarget[];
  },
  finalizers: FLUX_FINALIZERS,
  isOursAlone: () => false,
  contested: () => Promise.resolve(null),
  leavings: [],
};

/** A controller notes the request that it has seen in the status of the object. */
const ECHO: Pick<ProbeTarget, 'request' | 'answer'> = {
  request: (token) => ({ metadata: { annotations: { [REQUEST]: token } } }),
  answer: (object, token) => (statusOf(object).lastHandledReconcileAt === token ? 'given' : 'none'),
};

const isSync = ({ kind, name }: ObjectRef): boolean => kind === 'Kustomization' && name === CATALOG;

/** It names a Secret that there is not, so that no connection is made for it: the controller answers all the same. */
function probeRepository(): KubeObject {
  return {
    ...GIT_REPOSITORY,
    metadata: { name: PROBE, namespace: NAMESPACE, labels: OUR_LABELS },
    spec: { url: 'ssh://git@fairlead.invalid/none', secretRef: { name: PROBE }, interval: '24h' },
  };
}

function probeSync(): KubeObject {
  return {
    ...KUSTOMIZATION,
    metadata: { name: PROBE, namespace: NAMESPACE, labels: OUR_LABELS },
    spec: { sourceRef: { kind: 'GitRepository', name: PROBE }, prune: false, interval: '24h' },
  };
}

interface FluxStatus {
  readonly conditions?: readonly { type: string; status: string; reason?: string; message?: string }[];
  readonly artifact?: { readonly revision?: string };
  readonly lastAppliedRevision?: string;
  readonly observedGeneration?: number;
  readonly lastHandledReconcileAt?: string;
}

export function statusOf(object: KubeObject): FluxStatus {
  return object['status'] ?? {};
}

/** What Flux says of one of its objects; null if there is no such object. */
export function stateOf(object: KubeObject | null, at: string): SourceState | null {
  if (!object) return null;
  const status = statusOf(object);
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  const stale = (status.observedGeneration ?? -1) !== object.metadata.generation;
  return {
    ready:
      ready === undefined || ready.status === 'Unknown' || (stale && ready.status === 'True')
        ? null
        : ready.status === 'True',
    reason: (ready?.reason ?? '').slice(0, 128),
    message: (ready?.message ?? '').slice(0, 1_024),
    revision: (status.lastAppliedRevision ?? status.artifact?.revision ?? '').slice(0, 256),
    at,
  };
}

const NO_CROSS_NAMESPACE_REFS = '--no-cross-namespace-refs=true';
const DEFAULT_SERVICE_ACCOUNT = '--default-service-account=default';

/** By Deployment: https://fluxcd.io/flux/installation/configuration/multitenancy/ */
const FLAGS: Readonly<Record<string, readonly string[]>> = {
  'kustomize-controller': [NO_CROSS_NAMESPACE_REFS, '--no-remote-bases=true', DEFAULT_SERVICE_ACCOUNT],
  'helm-controller': [NO_CROSS_NAMESPACE_REFS, DEFAULT_SERVICE_ACCOUNT],
  'notification-controller': [NO_CROSS_NAMESPACE_REFS],
  'image-reflector-controller': [NO_CROSS_NAMESPACE_REFS],
  'image-automation-controller': [NO_CROSS_NAMESPACE_REFS],
};

/** Controllers that let no tenant use another one's sources or accounts. A flag that the bundle sets already is replaced. */
function lockedDown(object: KubeObject): KubeObject {
  const flags = object.kind === 'Deployment' ? FLAGS[object.metadata.name] : undefined;
  if (!flags) return object;
  const names = flags.map((flag) => flag.slice(0, flag.indexOf('=')));
  return withContainers(object, (container) => {
    if (container.name !== 'manager') return container;
    const others = (container.args ?? []).filter(
      (arg) => !names.some((name) => arg === name || arg.startsWith(`${name}=`)),
    );
    return { ...container, args: [...others, ...flags] };
  });
}
