/** The requests that have a name in the OpenAPI document, which is the one they have here. */
export { AccessQuestion, IssuerToPut, Lock, NewAccessRequest, NewApiToken, NewGrant } from './access-operations.js';
export { CaStep } from './ca-operations.js';
export { BundleImport, NewCatalogRepository } from './catalog-operations.js';
export { GitHostToPut, HostKeyApproval } from './git-host-operations.js';
export { AssignmentToPut, RolloutStep } from './gitops-operations.js';
export { AskedCredential } from './credential-operations.js';
export { SessionEnd } from './session-operations.js';
export { NewSubscriber, SubscriberKey, SubscriberReplay } from './subscriber-operations.js';
export { Redelivery, SecretRotation } from './webhook-operations.js';
export { NewTenant } from './tenant-operations.js';
export { EndedLogin, NewLogin } from './login-operations.js';
export { Approval, ChosenPolicy, ClusterChange, NewClient, NewCluster, Rejection, Revocation } from './schemas.js';
