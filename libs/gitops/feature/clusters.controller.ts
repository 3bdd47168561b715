import { gitopsRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { Assignments } from './assignments.js';
import { ClusterReports } from './cluster-reports.js';
import { ClusterStatus } from './cluster-status.js';

type Asked<Method extends keyof typeof gitopsRpc> = RpcRequest<(typeof gitopsRpc)[Method]>;

/** The part of the contract that is about what clusters are given and what they say. */
@Controller()
export class ClustersController {
  constructor(
    private readonly assignments: Assignments,
    private readonly status: ClusterStatus,
    private readonly reports: ClusterReports,
  ) {}

  @RpcHandler(gitopsRpc.putAssignment)
  async putAssignment({ caller, tenantId, input }: Asked<'putAssignment'>) {
    const { actor, ifRevision, ...spec } = input;
    return this.assignments.put(caller, tenantId, spec, { actor, ifRevision });
  }

  @RpcHandler(gitopsRpc.listAssignments)
  async listAssignments({ tenantId }: Asked<'listAssignments'>) {
    return { assignments: await this.assignments.list(tenantId) };
  }

  @RpcHandler(gitopsRpc.removeAssignment)
  async removeAssignment({ caller, tenantId, input }: Asked<'removeAssignment'>) {
    await this.assignments.remove(caller, tenantId, input);
    return {};
  }

  @RpcHandler(gitopsRpc.clusterStatus)
  async clusterStatus({ tenantId, input }: Asked<'clusterStatus'>) {
    return this.status.get(tenantId, input.name);
  }

  @RpcHandler(gitopsRpc.listClusterStatus)
  async listClusterStatus({ tenantId, input }: Asked<'listClusterStatus'>) {
    return this.status.list(tenantId, input.after);
  }

  @RpcHandler(gitopsRpc.clusterEvents)
  async clusterEvents({ tenantId, input }: Asked<'clusterEvents'>) {
    return { events: await this.status.events(tenantId, input.name) };
  }

  @RpcHandler(gitopsRpc.rotateDeployKey)
  async rotateDeployKey({ caller, tenantId, input }: Asked<'rotateDeployKey'>) {
    return this.status.rotateKey(caller, tenantId, input);
  }

  @RpcHandler(gitopsRpc.reportCluster)
  async reportCluster({ tenantId, input }: Asked<'reportCluster'>) {
    await this.reports.take(tenantId, input.clusterId, input.report);
    return {};
  }
}
