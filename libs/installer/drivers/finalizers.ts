/** https://fluxcd.io/flux/components/: one name for all controllers. */
export const FLUX_FINALIZERS: readonly string[] = ['finalizers.fluxcd.io'];

const DELETES_RESOURCES = 'resources-finalizer.argocd.argoproj.io';
const AFTER_DELETION = 'post-delete-finalizer.argocd.argoproj.io';

/** With it, deleting an Application deletes what it deployed: https://argo-cd.readthedocs.io/en/stable/user-guide/app_deletion/ */
export const ARGOCD_CASCADE = DELETES_RESOURCES;

export const ARGOCD_FINALIZERS: readonly string[] = [
  DELETES_RESOURCES,
  `${DELETES_RESOURCES}/foreground`,
  `${DELETES_RESOURCES}/background`,
  AFTER_DELETION,
  `${AFTER_DELETION}/cleanup`,
];
