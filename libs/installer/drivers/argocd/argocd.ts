import type { CommitVerification, GitOpsSpec } from '@fairlead/desired-state';
import type { ObjectRef } from '@fairlead/kube/rest';
import { FIELD_MANAGER } from '../../names.js';
import { Problem } from '../../problem.js';
import { complaintOf } from '../complaint.js';
import type { ToolDriver } from '../driver.js';
import {
  ARGOCD_CASCADE,
  ARGOCD_FINALIZERS,
  APP_PROJECT,
  APPLICATION,
  GPG_KEYS,
  KNOWN_HOSTS,
  named,
  NAMESPACE,
} from './kinds.js';
import { adapted } from './adapt.js';
import { gaveUp, isUnverified, statesOf, type ApplicationStates } from './application-state.js';
import { readSigningKey } from './open-pgp.js';
import { inCatalog } from './in-catalog.js';
import { argocdProbes } from './probes.js';
import { argocdSources, CATALOG, NEXT, SKIP_RECONCILE } from './sources.js';

/** Argo CD, from v2.4, as its own install.yaml and core-install.yaml bring it: https://argo-cd.readthedocs.io/en/stable/operator-manual/installation/ */
export const argocd: ToolDriver = {
  tool: 'argocd',
  namespace: NAMESPACE,
  adapt: adapted,
  objection: ({ source }) => (source?.verification ? objectionTo(source.verification) : null),
  sources: (spec, keys) => argocdSources(spec, keys),
  released: (ref) => (isOf(ref, CATALOG) || isOf(ref, NEXT) ? { metadata: { finalizers: [] } } : null),
  emptied: (ref) =>
    isOf(ref, CATALOG) ? { metadata: { finalizers: [ARGOCD_CASCADE], annotations: { [SKIP_RECONCILE]: null } } } : null,
  read: async (objects, at) => {
    const [catalog, next] = await Promise.all([
      objects.read(named(APPLICATION, CATALOG)),
      objects.read(named(APPLICATION, NEXT)),
    ]);
    const { source = null, sync = null } = statesOf(catalog, at) ?? {};
    return {
      source,
      sync,
      complaint: complaintOf(source, sync, isUnverified),
      currentWorks: source?.ready ?? null,
      nextWorks: hasFetched(statesOf(next, at)),
    };
  },
  tryAgain: async (objects, nowMs) => {
    const ref = named(APPLICATION, CATALOG);
    const application = await objects.read(ref);
    if (!application || !gaveUp(application, nowMs)) return;
    // It tries a commit again only if it knows of no attempt at it: `controller/appcontroller.go`, alreadyAttemptedSync.
    const body = { status: { operationState: null } };
    await objects.patch(ref, { type: 'merge', body }, `${FIELD_MANAGER}-request`);
  },
  probes: (_spec: GitOpsSpec) => argocdProbes(),
  finalizers: ARGOCD_FINALIZERS,
  isOursAlone,
  contested: inCatalog,
  // Its Redis' password, and the built-in administrator's.
  leavings: ['Secret argocd-redis', 'Secret argocd-initial-admin-secret'],
};

function objectionTo({ type, keys }: CommitVerification): Problem | null {
  if (type === 'ssh') {
    return new Problem(
      'VERIFICATION_UNSUPPORTED',
      'Argo CD verifies OpenPGP signatures of commits only: nothing is followed while SSH signatures are demanded',
    );
  }
  const unread = keys.find(({ publicKey }) => readSigningKey(publicKey) === null);
  if (!unread) return null;
  const what = `the key ${unread.name} is not one OpenPGP key of version 4, which is all that Argo CD verifies by`;
  return new Problem('VERIFICATION_UNSUPPORTED', `${what}: nothing is followed while it is demanded`);
}

/** A commit that is not signed was fetched all the same. */
function hasFetched(states: ApplicationStates | null): boolean | null {
  if (!states) return null;
  return states.source.ready === false && isUnverified(states.source) ? true : states.source.ready;
}

function isOf({ kind, name }: ObjectRef, expected: string): boolean {
  return kind === APPLICATION.kind && name === expected;
}

/** What is trusted, and what is followed for it; and the project of Applications that name none, as long as it is to let nothing through. */
function isOursAlone({ kind, name, namespace }: ObjectRef, { lockdown }: GitOpsSpec): boolean {
  if (namespace !== NAMESPACE) return false;
  if (kind === 'ConfigMap') return name === KNOWN_HOSTS || name === GPG_KEYS;
  if (kind === APP_PROJECT.kind && name === 'default') return lockdown;
  return [APP_PROJECT.kind, APPLICATION.kind, 'Secret'].includes(kind) && name.startsWith('fairlead-');
}
