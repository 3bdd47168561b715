import { gitopsRpc, type ClusterGitOps, type Principal, type RotatedDeployKey } from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import { gitopsOperations, type ClusterGitOpsEvents, type ClusterGitOpsList } from '../contract/gitops-operations.js';
import { CurrentPrincipal, Params, Query, Serve } from '../http/serve.js';
import { Backend } from './backend.js';

interface ByName {
  readonly name: string;
}

/** What is wanted of each cluster, and what its installer says. */
@Controller()
export class ClusterGitOpsController {
  constructor(private readonly backend: Backend) {}

  @Serve(gitopsOperations.listClusterGitOps)
  list(
    @CurrentPrincipal() { tenantId }: Principal,
    @Query(gitopsOperations.listClusterGitOps) page: { readonly after?: string },
  ): Promise<ClusterGitOpsList> {
    return this.backend.read(gitopsRpc.listClusterStatus, tenantId, page);
  }

  @Serve(gitopsOperations.getClusterGitOps)
  get(
    @CurrentPrincipal() { tenantId }: Principal,
    @Params(gitopsOperations.getClusterGitOps) { name }: ByName,
  ): Promise<ClusterGitOps> {
    return this.backend.read(gitopsRpc.clusterStatus, tenantId, { name });
  }

  @Serve(gitopsOperations.getClusterGitOpsEvents)
  events(
    @CurrentPrincipal() { tenantId }: Principal,
    @Params(gitopsOperations.getClusterGitOpsEvents) { name }: ByName,
  ): Promise<ClusterGitOpsEvents> {
    return this.backend.read(gitopsRpc.clusterEvents, tenantId, { name });
  }

  @Serve(gitopsOperations.rotateDeployKey)
  rotateDeployKey(
    @CurrentPrincipal() { tenantId, user: actor }: Principal,
    @Params(gitopsOperations.rotateDeployKey) { name }: ByName,
    @Query(gitopsOperations.rotateDeployKey) { reason }: { readonly reason: 'demand' | 'compromise' },
  ): Promise<RotatedDeployKey> {
    return this.backend.write(gitopsRpc.rotateDeployKey, tenantId, { name, reason, actor });
  }
}
