/** The answers that have a name in the OpenAPI document, which is the one they have here. */
export {
  AccessExplanation,
  AccessRequest,
  AccessRequestList,
  ApiToken,
  ApiTokenList,
  CreatedApiToken,
  Grant,
  GrantList,
  Issuer,
  IssuerList,
  KnownUser,
  Lockdown,
  LockdownList,
  UserList,
} from './access-operations.js';
export {
  AuditEvidenceItem,
  AuditEvidenceList,
  AuditLogBegunAnew,
  AuditLogHead,
  AuditTile,
  AuditWitness,
  AuditWitnessList,
  CosignedCheckpoint,
} from './audit-log-operations.js';
export { Credential } from './credential-operations.js';
export { LoginOptions, LoginSecrets } from './login-operations.js';
export { AuditEntryList, AuditEntry, AuditFeed, AuditProducerList } from './audit-operations.js';
export { EndedSessions, Session, SessionList } from './session-operations.js';
export { CreatedSubscriber, Subscriber, SubscriberList } from './subscriber-operations.js';
export { DeadLetter, DeadLetterList, RotatedSecret } from './webhook-operations.js';
export { Tenant, TenantList } from './tenant-operations.js';
export { CertificateAuthority } from './ca-operations.js';
export { Bundle, BundleList, CatalogList, CatalogRepository } from './catalog-operations.js';
export { DeployKey, DeployKeyList, GitHost, GitHostList } from './git-host-operations.js';
export {
  Assignment,
  AssignmentList,
  Breaker,
  ClusterGitOps,
  ClusterGitOpsEvents,
  ClusterGitOpsList,
  Rollout,
  RolloutList,
  RotatedDeployKey,
} from './gitops-operations.js';
export {
  CertificateList,
  CertificateRecord,
  CertifiedClient,
  Client,
  ClientList,
  Cluster,
  ClusterAccess,
  ClusterList,
  Door,
  EnrolmentRequest,
  EnrolmentRequestList,
  FieldProblem,
  ImportLink,
  Problem,
  Readiness,
  ShownPolicy,
  Whoami,
} from './schemas.js';
