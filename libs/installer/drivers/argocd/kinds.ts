import type { ObjectRef } from '@fairlead/kube/rest';

/** https://argo-cd.readthedocs.io/en/stable/getting_started/: its manifests name no namespace but this one, as that of their accounts. */
export const NAMESPACE = 'argocd';
export const APPLICATION = { apiVersion: 'argoproj.io/v1alpha1', kind: 'Application' } as const;
export const APP_PROJECT = { apiVersion: 'argoproj.io/v1alpha1', kind: 'AppProject' } as const;

/** The cluster that Argo CD runs in. */
export const IN_CLUSTER = 'https://kubernetes.default.svc';
export const APPLICATION_CONTROLLER = 'argocd-application-controller';
export const REPO_SERVER = 'argocd-repo-server';

/** ConfigMaps that say what is trusted. */
export const KNOWN_HOSTS = 'argocd-ssh-known-hosts-cm';
export const GPG_KEYS = 'argocd-gpg-keys-cm';
/** Of Argo CD as a whole. */
export const SETTINGS = 'argocd-cm';

export function named(kind: { readonly apiVersion: string; readonly kind: string }, name: string): ObjectRef {
  return { ...kind, namespace: NAMESPACE, name };
}

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
