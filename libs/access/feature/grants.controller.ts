import { accessRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { AccessRequests } from './access-requests.js';
import { ExplainAccess } from './explain-access.js';
import { Grants } from './grants.js';
import { Lockdowns } from './lockdowns.js';

type Asked<Method extends keyof typeof accessRpc> = RpcRequest<(typeof accessRpc)[Method]>;

/** The part of the contract about who may do what. */
@Controller()
export class GrantsController {
  constructor(
    private readonly grants: Grants,
    private readonly requests: AccessRequests,
    private readonly lockdowns: Lockdowns,
    private readonly explaining: ExplainAccess,
  ) {}

  @RpcHandler(accessRpc.createGrant)
  async createGrant({ caller, tenantId, input }: Asked<'createGrant'>) {
    return this.grants.create(caller, tenantId, input);
  }

  @RpcHandler(accessRpc.listGrants)
  async listGrants({ tenantId, input }: Asked<'listGrants'>) {
    return this.grants.list(tenantId, input);
  }

  @RpcHandler(accessRpc.getGrant)
  async getGrant({ tenantId, input }: Asked<'getGrant'>) {
    return this.grants.get(tenantId, input.id);
  }

  @RpcHandler(accessRpc.deleteGrant)
  async deleteGrant({ caller, tenantId, input }: Asked<'deleteGrant'>) {
    await this.grants.delete(caller, tenantId, input);
    return {};
  }

  @RpcHandler(accessRpc.grantsOf)
  async grantsOf({ tenantId, input }: Asked<'grantsOf'>) {
    return this.grants.of(tenantId, input);
  }

  @RpcHandler(accessRpc.clustersOf)
  async clustersOf({ tenantId, input }: Asked<'clustersOf'>) {
    return this.grants.clustersOf(tenantId, input);
  }

  @RpcHandler(accessRpc.requestAccess)
  async requestAccess({ caller, tenantId, input }: Asked<'requestAccess'>) {
    return this.requests.create(caller, tenantId, input);
  }

  @RpcHandler(accessRpc.listAccessRequests)
  async listAccessRequests({ tenantId, input }: Asked<'listAccessRequests'>) {
    return this.requests.list(tenantId, input);
  }

  @RpcHandler(accessRpc.decideAccessRequest)
  async decideAccessRequest({ caller, tenantId, input }: Asked<'decideAccessRequest'>) {
    return this.requests.decide(caller, tenantId, input);
  }

  @RpcHandler(accessRpc.listLockdowns)
  async listLockdowns({ tenantId }: Asked<'listLockdowns'>) {
    return { lockdowns: await this.lockdowns.list(tenantId) };
  }

  @RpcHandler(accessRpc.lockDown)
  async lockDown({ caller, tenantId, input }: Asked<'lockDown'>) {
    return this.lockdowns.begin(caller, tenantId, input);
  }

  @RpcHandler(accessRpc.liftLockdown)
  async liftLockdown({ caller, tenantId, input }: Asked<'liftLockdown'>) {
    await this.lockdowns.lift(caller, tenantId, input);
    return {};
  }

  @RpcHandler(accessRpc.explain)
  async explain({ tenantId, input }: Asked<'explain'>) {
    return this.explaining.explain(tenantId, input);
  }
}
