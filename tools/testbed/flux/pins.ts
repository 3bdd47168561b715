import type { GoModulePin } from '../binaries/go-module.js';
import { COMPONENTS } from '../binaries/catalog.js';

/** The release of Flux whose manifests these are; its own source-controller is the one that runs. */
export const FLUX_VERSION = 'v2.3.0';

/** Where the parts of the install manifest are. Their sums are those of the public checksum database. */
export const FLUX_MODULES = {
  flux: {
    path: 'github.com/fluxcd/flux2/v2',
    version: FLUX_VERSION,
    sum: 'h1:R90fCqLj52F2KL7DWG3/r5LyhJF+zgCaNjdzF2/WrvY=',
  },
  'source-controller': {
    path: 'github.com/fluxcd/source-controller',
    version: `v${COMPONENTS['flux-source-controller'].version}`,
    sum: 'h1:4rwvl3e2LJqeJIK7lrVl/DhGwaFtqDiS+EEJ9l2zxNw=',
  },
  // This kustomize-controller asks for kinds in v1 that the source-controller which runs has in v1beta2: these serve both.
  'source-crds': {
    path: 'github.com/fluxcd/source-controller',
    version: 'v1.7.3',
    sum: 'h1:gFfeBiNUgF0kFFGap/rrMeJqz+0Tod0ARENJO8w/UA8=',
  },
  'kustomize-controller': {
    path: 'github.com/fluxcd/kustomize-controller',
    version: `v${COMPONENTS['flux-kustomize-controller'].version}`,
    sum: 'h1:/XY2zy3K7fntyppEXIHG7oRMzmfgIt50eJzUfaPX1Kc=',
  },
} as const satisfies Record<string, GoModulePin>;

export const FLUX_CONTROLLERS = ['source-controller', 'kustomize-controller'] as const;

/** As upstream names it: what the install manifest asks for. */
export const fluxImage = (controller: (typeof FLUX_CONTROLLERS)[number]): string =>
  `ghcr.io/fluxcd/${controller}:${FLUX_MODULES[controller].version}`;
