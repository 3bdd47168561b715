export { checkCredentials, heldPins, type CredentialCheckOptions } from './check-credentials.js';
export { checkEndpoint, type EndpointCheckOptions } from './check-endpoint.js';
export { checkKubernetes, type Right } from './check-kubernetes.js';
export type { Finding } from './finding.js';
export { rightsToNames } from '../facts/rights-to-names.js';
