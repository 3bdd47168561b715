/** For tests of whoever uses the service. */
export { argocdManifest, fluxManifest } from './manifests.js';
export { newPublicKey } from './public-key.js';
