import { refOf, type KubeObject, type Objects } from '@fairlead/kube/rest';
import { Problem } from '../../problem.js';
import { APP_PROJECT, APPLICATION, named, NAMESPACE } from './kinds.js';
import { CATALOG_PROJECT } from './projects.js';
import { CATALOG } from './sources.js';

/** How Argo CD marks what an Application deploys: https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking/ */
const TRACKING_ID = 'argocd.argoproj.io/tracking-id';
const TRACKING_LABEL = 'app.kubernetes.io/instance';

interface Deployed {
  readonly group?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** It is in the repository no more. */
  readonly requiresPruning?: boolean;
}

/**
 * Is this the project `default`, and does the catalog hold it? Those that were there before us often do. An Application of the catalog's
 * project deploys from the catalog only, and may deploy everything anyway: so nothing is lost but the lockdown of `default`, which is told; who
 * would fight for it would spend on it the repairs of the hour. Everything else that is trusted stays ours, whatever the catalog says.
 */
export async function inCatalog(objects: Objects, live: KubeObject): Promise<Problem | null> {
  const { kind, name, namespace } = refOf(live);
  if (kind !== APP_PROJECT.kind || name !== 'default' || namespace !== NAMESPACE) return null;
  const { annotations = {}, labels = {} } = live.metadata;
  const claims = [annotations[TRACKING_ID]?.split(':')[0] ?? '', labels[TRACKING_LABEL] ?? '', CATALOG];
  for (const application of new Set(claims.filter(isName))) {
    const found = await objects.read(named(APPLICATION, application));
    if (found && isOfCatalog(found) && deploys(found)) return told(application);
  }
  return null;
}

/** Anybody who may edit the project may mark it with anything. */
function isName(claim: string): boolean {
  return /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(claim);
}

function isOfCatalog(application: KubeObject): boolean {
  return (application['spec'] as { project?: string } | undefined)?.project === CATALOG_PROJECT;
}

function told(application: string): Problem {
  const what = `the Application ${application} deploys the AppProject default as well: it is left to it, and not locked`;
  return new Problem('CATALOG_CONFLICT', `${what}. Take it out of the catalog, or turn lockdown off`);
}

function deploys(application: KubeObject): boolean {
  const { resources = [] } = (application['status'] ?? {}) as { resources?: readonly Deployed[] };
  return resources.some(
    ({ group, kind, namespace, name, requiresPruning }) =>
      group === 'argoproj.io' &&
      kind === APP_PROJECT.kind &&
      name === 'default' &&
      namespace === NAMESPACE &&
      requiresPruning !== true,
  );
}
