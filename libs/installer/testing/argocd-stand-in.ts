import { refOf, type KubeObject, type Objects } from '@fairlead/kube/rest';

const REFRESH = 'argocd.argoproj.io/refresh';
const CASCADE = 'resources-finalizer.argocd.argoproj.io';
const REVISION = '0123456789abcdef0123456789abcdef01234567';
const ASKED = 'failed to generate manifest for source 1 of 1: rpc error: code =';

/** One round of Argo CD's application controller, as it would tell of what it finds. It deploys nothing. */
export async function playArgocd(objects: Objects, frozen: ReadonlySet<string>): Promise<void> {
  if (frozen.has('argocd-application-controller')) return;
  for (const application of await objects.list({ apiVersion: 'argoproj.io/v1alpha1', kind: 'Application' })) {
    const body = isLeaving(application) ? letGo(application) : compared(application, frozen.has('argocd-repo-server'));
    if (body) await objects.patch(refOf(application), { type: 'merge', body }, 'argocd-application-controller');
  }
}

function isLeaving({ metadata: { deletionTimestamp } }: KubeObject): boolean {
  return deletionTimestamp !== undefined;
}

/** Once it has deleted what the Application deployed. */
function letGo({ metadata: { finalizers = [] } }: KubeObject): unknown {
  return finalizers.includes(CASCADE)
    ? { metadata: { finalizers: finalizers.filter((name) => name !== CASCADE) } }
    : null;
}

/** At once when it is asked to, else when it never did. */
function compared(application: KubeObject, unanswered: boolean): unknown {
  const { annotations = {}, name } = application.metadata;
  if (annotations['argocd.argoproj.io/skip-reconcile'] === 'true') return null;
  if (annotations[REFRESH] === undefined && application['status'] !== undefined) return null;
  return { metadata: { annotations: { [REFRESH]: null } }, status: statusOf(application, name, unanswered) };
}

function statusOf(application: KubeObject, name: string, unanswered: boolean): Record<string, unknown> {
  const { source } = application['spec'] as { source: Record<string, unknown> };
  if (name === 'fairlead-functional') return failing('InvalidSpecError', 'application repo is not permitted');
  if (unanswered) return failing('ComparisonError', `${ASKED} Unavailable desc = connection error`);
  if (name === 'fairlead-functional-repository') return failing('ComparisonError', `${ASKED} Unknown desc = no key`);
  return {
    conditions: null,
    sync: { status: 'Synced', revision: REVISION, comparedTo: { source } },
    operationState: { phase: 'Succeeded', message: 'synced', syncResult: { revision: REVISION } },
  };
}

function failing(type: string, message: string): Record<string, unknown> {
  return { conditions: [{ type, message }], sync: { status: 'Unknown' } };
}
