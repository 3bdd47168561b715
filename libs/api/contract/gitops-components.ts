import {
  Bundle,
  BundleImport,
  BundleList,
  CatalogList,
  CatalogRepository,
  NewCatalogRepository,
} from './catalog-operations.js';
import {
  DeployKey,
  DeployKeyList,
  GitHost,
  GitHostList,
  GitHostToPut,
  HostKeyApproval,
} from './git-host-operations.js';
import {
  Assignment,
  AssignmentList,
  AssignmentToPut,
  Breaker,
  ClusterGitOps,
  ClusterGitOpsEvents,
  ClusterGitOpsList,
  Rollout,
  RolloutList,
  RolloutStep,
  RotatedDeployKey,
} from './gitops-operations.js';

/** The answers about GitOps that have a name in the OpenAPI document. */
export const GITOPS_OUTPUTS = {
  Assignment,
  AssignmentList,
  Breaker,
  Bundle,
  BundleList,
  CatalogList,
  CatalogRepository,
  ClusterGitOps,
  ClusterGitOpsEvents,
  ClusterGitOpsList,
  DeployKey,
  DeployKeyList,
  GitHost,
  GitHostList,
  Rollout,
  RolloutList,
  RotatedDeployKey,
};

/** And the requests. */
export const GITOPS_INPUTS = {
  AssignmentToPut,
  BundleImport,
  GitHostToPut,
  HostKeyApproval,
  NewCatalogRepository,
  RolloutStep,
};
