export { applyManifest, type ApplyOptions } from './apply-manifest.js';
export { readObject, type ObjectReference } from './read-object.js';
export { createSecretStore, type SecretStore, type SecretStoreOptions } from './secret-store.js';
export {
  requestServiceAccountToken,
  type ServiceAccountToken,
  type ServiceAccountTokenRequest,
} from './service-account-token.js';
