import { gitopsRpc } from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';

/** What is wanted of each cluster, and what its installer says. */
@Controller()
export class ClusterGitOpsController {
  constructor(private readonly backend: Backend) {}

  @Serve('listClusterGitOps')
  list(@Asked() { tenantId, query }: Call<'listClusterGitOps'>) {
    return this.backend.read(gitopsRpc.listClusterStatus, tenantId, query);
  }

  @Serve('getClusterGitOps')
  get(@Asked() { tenantId, params }: Call<'getClusterGitOps'>) {
    return this.backend.read(gitopsRpc.clusterStatus, tenantId, params);
  }

  @Serve('getClusterGitOpsEvents')
  events(@Asked() { tenantId, params }: Call<'getClusterGitOpsEvents'>) {
    return this.backend.read(gitopsRpc.clusterEvents, tenantId, params);
  }

  @Serve('rotateDeployKey')
  rotateDeployKey(@Asked() { tenantId, actor, params, query }: Call<'rotateDeployKey'>) {
    return this.backend.write(gitopsRpc.rotateDeployKey, tenantId, { ...params, ...query, actor });
  }
}
