/**
 * What the control plane wants of a cluster's GitOps tool, and what its installer reports. The services write and sign it, gateway
 * and agent carry it unread, the installer alone acts on it (docs/adr/0026-gitops-by-signed-desired-state.md).
 */
export {
  CatalogSource,
  CommitVerification,
  DesiredState,
  GitOpsSpec,
  ImageRules,
  MAX_DESIRED_STATE_BYTES,
  BundleReference,
  SelfHeal,
  Tool,
} from './desired-state.js';
export {
  HostReach,
  InstallerReport,
  MAX_PREFLIGHT_HOSTS,
  MAX_REPORT_BYTES,
  MAX_REPORT_EVENTS,
  ObjectEvent,
  Phase,
  PreflightReport,
  Problem,
  PublicKey,
  SourceState,
} from './installer-report.js';
export { Handover, HANDOVER } from './handover.js';
export { BundleLimits } from './bundle-limits.js';
export { openDesiredState, signDesiredState, type SignedDesiredState } from './signed-desired-state.js';
export { KnownHost, formatKnownHosts } from './desired-state.js';
