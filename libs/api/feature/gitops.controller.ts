import { gitopsRpc } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { Controller } from '@nestjs/common';
import { IfRevision, type Expected } from '../http/revisions.js';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';

/** What clusters are to run, how changes reach them, and what their installers say. */
@Controller()
export class GitOpsController {
  constructor(private readonly backend: Backend) {}

  @Serve('listAssignments')
  assignments(@Asked() { tenantId }: Call<'listAssignments'>) {
    return this.backend.read(gitopsRpc.listAssignments, tenantId, {});
  }

  @Serve('getAssignment')
  async assignment(@Asked() { tenantId, params: { name } }: Call<'getAssignment'>) {
    const { assignments } = await this.backend.read(gitopsRpc.listAssignments, tenantId, {});
    const assignment = assignments.find((each) => each.name === name);
    if (!assignment) throw new FairleadError('NOT_FOUND', `there is no assignment ${name}`);
    return assignment;
  }

  @Serve('putAssignment')
  put(@Asked() { tenantId, actor, params, body }: Call<'putAssignment'>, @IfRevision() ifRevision: Expected) {
    return this.backend.write(gitopsRpc.putAssignment, tenantId, { ...body, ...params, actor, ifRevision });
  }

  @Serve('removeAssignment')
  async remove(
    @Asked() { tenantId, actor, params, query }: Call<'removeAssignment'>,
    @IfRevision() ifRevision: Expected,
  ) {
    await this.backend.write(gitopsRpc.removeAssignment, tenantId, { ...params, ...query, actor, ifRevision });
  }

  @Serve('listRollouts')
  rollouts(@Asked() { tenantId, query }: Call<'listRollouts'>) {
    return this.backend.read(gitopsRpc.listRollouts, tenantId, query);
  }

  @Serve('steerRollout')
  steer(@Asked() { tenantId, actor, params, body }: Call<'steerRollout'>) {
    return this.backend.write(gitopsRpc.steerRollout, tenantId, { ...params, ...body, actor });
  }

  @Serve('getBreaker')
  breaker(@Asked() { tenantId }: Call<'getBreaker'>) {
    return this.backend.read(gitopsRpc.breaker, tenantId, {});
  }

  @Serve('resetBreaker')
  resetBreaker(@Asked() { tenantId, actor }: Call<'resetBreaker'>) {
    return this.backend.write(gitopsRpc.resetBreaker, tenantId, { actor });
  }

  @Serve('listClusterGitOps')
  clusters(@Asked() { tenantId, query }: Call<'listClusterGitOps'>) {
    return this.backend.read(gitopsRpc.listClusterStatus, tenantId, query);
  }

  @Serve('getClusterGitOps')
  cluster(@Asked() { tenantId, params }: Call<'getClusterGitOps'>) {
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
