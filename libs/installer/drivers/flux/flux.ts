import type { KubeObject, ObjectRef } from '@fairlead/kube/rest';
import { LABELS, OWNER } from '../../names.js';
import { Problem } from '../../problem.js';
import { complaintOf } from '../complaint.js';
import type { ProbeTarget, ToolDriver } from '../driver.js';
import { FLUX_FINALIZERS } from '../finalizers.js';
import { stateOf, statusOf } from './conditions.js';
import { lockedDown } from './lockdown.js';
import { CATALOG, GIT_REPOSITORY, KUSTOMIZATION, NAMESPACE, NEXT, fluxSources } from './sources.js';

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
