import { registrationRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { ApprovalPolicies } from './approval-policies.js';
import { EnrolmentRequests } from './enrolment-requests.js';
import { ImportLinks } from './import-links.js';

type Asked<Method extends keyof typeof registrationRpc> = RpcRequest<(typeof registrationRpc)[Method]>;

/** The part of registration's contract that is about who decides, and what was decided. */
@Controller()
export class ApprovalController {
  constructor(
    private readonly requests: EnrolmentRequests,
    private readonly policies: ApprovalPolicies,
    private readonly importLinks: ImportLinks,
  ) {}

  @RpcHandler(registrationRpc.listEnrolmentRequests)
  async list({ tenantId, input }: Asked<'listEnrolmentRequests'>) {
    return { requests: await this.requests.list(tenantId, input) };
  }

  @RpcHandler(registrationRpc.approveEnrolment)
  async approve({ caller, tenantId, input }: Asked<'approveEnrolment'>) {
    return this.requests.approve(caller, tenantId, input.id, input.cluster);
  }

  @RpcHandler(registrationRpc.rejectEnrolment)
  async reject({ caller, tenantId, input }: Asked<'rejectEnrolment'>) {
    return this.requests.reject(caller, tenantId, input.id, input.reason);
  }

  @RpcHandler(registrationRpc.getApprovalPolicy)
  async getPolicy({ tenantId, input }: Asked<'getApprovalPolicy'>) {
    return this.policies.get(tenantId, input.cluster);
  }

  @RpcHandler(registrationRpc.setApprovalPolicy)
  async setPolicy({ caller, tenantId, input }: Asked<'setApprovalPolicy'>) {
    return this.policies.set(caller, tenantId, input.cluster, input.policy);
  }

  @RpcHandler(registrationRpc.adoptionManifest)
  async adoptionManifest() {
    return { manifest: await this.importLinks.adoptionManifest() };
  }
}
