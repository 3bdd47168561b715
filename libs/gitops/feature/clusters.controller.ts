import { gitopsRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { Assignments } from './assignments.js';
import { ClusterReports } from './cluster-reports.js';
import { ClusterStatus } from './cluster-status.js';

type Rpcs = typeof gitopsRpc;

/** The part of the contract that is about what clusters are given and what they say. */
@Controller()
export class ClustersController {
  readonly #assignments: Assignments;
  readonly #status: ClusterStatus;
  readonly #reports: ClusterReports;

  constructor(assignments: Assignments, status: ClusterStatus, reports: ClusterReports) {
    this.#assignments = assignments;
    this.#status = status;
    this.#reports = reports;
  }

  @RpcHandler(gitopsRpc.putAssignment)
  async putAssignment({
    caller,
    tenantId,
    input,
  }: RpcRequest<Rpcs['putAssignment']>): RpcResult<Rpcs['putAssignment']> {
    const { actor, ifRevision, ...spec } = input;
    return this.#assignments.put(caller, tenantId, spec, { actor, ifRevision });
  }

  @RpcHandler(gitopsRpc.listAssignments)
  async listAssignments({ tenantId }: RpcRequest<Rpcs['listAssignments']>): RpcResult<Rpcs['listAssignments']> {
    return { assignments: await this.#assignments.list(tenantId) };
  }

  @RpcHandler(gitopsRpc.removeAssignment)
  async removeAssignment({
    caller,
    tenantId,
    input,
  }: RpcRequest<Rpcs['removeAssignment']>): RpcResult<Rpcs['removeAssignment']> {
    await this.#assignments.remove(caller, tenantId, input);
    return {};
  }

  @RpcHandler(gitopsRpc.clusterStatus)
  async clusterStatus({ tenantId, input }: RpcRequest<Rpcs['clusterStatus']>): RpcResult<Rpcs['clusterStatus']> {
    return this.#status.get(tenantId, input.name);
  }

  @RpcHandler(gitopsRpc.listClusterStatus)
  async listClusterStatus({
    tenantId,
    input,
  }: RpcRequest<Rpcs['listClusterStatus']>): RpcResult<Rpcs['listClusterStatus']> {
    return this.#status.list(tenantId, input.after);
  }

  @RpcHandler(gitopsRpc.clusterEvents)
  async clusterEvents({ tenantId, input }: RpcRequest<Rpcs['clusterEvents']>): RpcResult<Rpcs['clusterEvents']> {
    return { events: await this.#status.events(tenantId, input.name) };
  }

  @RpcHandler(gitopsRpc.rotateDeployKey)
  async rotateDeployKey({
    caller,
    tenantId,
    input,
  }: RpcRequest<Rpcs['rotateDeployKey']>): RpcResult<Rpcs['rotateDeployKey']> {
    return this.#status.rotateKey(caller, tenantId, input);
  }

  @RpcHandler(gitopsRpc.reportCluster)
  async reportCluster({ tenantId, input }: RpcRequest<Rpcs['reportCluster']>): RpcResult<Rpcs['reportCluster']> {
    await this.#reports.take(tenantId, input.clusterId, input.report);
    return {};
  }
}
