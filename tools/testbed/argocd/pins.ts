import type { GoModulePin } from '../binaries/go-module.js';
import { COMPONENTS } from '../binaries/catalog.js';

export const ARGOCD_NAMESPACE = 'argocd';

/** Where the install manifest is. Its sum is that of the public checksum database. */
export const ARGOCD_MODULE: GoModulePin = {
  path: 'github.com/argoproj/argo-cd/v3',
  version: `v${COMPONENTS.argocd.version}`,
  sum: 'h1:ufzj0c7CWKoMW03lOV8F6jwIW6YDPPZWI4PTHxz8Qq0=',
};

/** As the install manifest names them. */
export const ARGOCD_IMAGES = {
  argocd: `quay.io/argoproj/argocd:${ARGOCD_MODULE.version}`,
  redis: 'public.ecr.aws/docker/library/redis:7.2.11-alpine',
} as const;
