import { registrationRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { ApprovalPolicies } from './approval-policies.js';
import { EnrolmentRequests } from './enrolment-requests.js';
import { ImportLinks } from './import-links.js';

type Rpcs = typeof registrationRpc;

/** The part of registration's contract that is about who decides, and what was decided. */
@Controller()
export class ApprovalController {
  readonly #requests: EnrolmentRequests;
  readonly #policies: ApprovalPolicies;
  readonly #importLinks: ImportLinks;

  constructor(requests: EnrolmentRequests, policies: ApprovalPolicies, importLinks: ImportLinks) {
    this.#requests = requests;
    this.#policies = policies;
    this.#importLinks = importLinks;
  }

  @RpcHandler(registrationRpc.listEnrolmentRequests)
  async list({ tenantId, input }: RpcRequest<Rpcs['listEnrolmentRequests']>): RpcResult<Rpcs['listEnrolmentRequests']> {
    return { requests: await this.#requests.list(tenantId, input) };
  }

  @RpcHandler(registrationRpc.approveEnrolment)
  async approve({
    caller,
    tenantId,
    input,
  }: RpcRequest<Rpcs['approveEnrolment']>): RpcResult<Rpcs['approveEnrolment']> {
    return this.#requests.approve(caller, tenantId, input.id, input.cluster);
  }

  @RpcHandler(registrationRpc.rejectEnrolment)
  async reject({ caller, tenantId, input }: RpcRequest<Rpcs['rejectEnrolment']>): RpcResult<Rpcs['rejectEnrolment']> {
    return this.#requests.reject(caller, tenantId, input.id, input.reason);
  }

  @RpcHandler(registrationRpc.getApprovalPolicy)
  async getPolicy({ tenantId, input }: RpcRequest<Rpcs['getApprovalPolicy']>): RpcResult<Rpcs['getApprovalPolicy']> {
    return this.#policies.get(tenantId, input.cluster);
  }

  @RpcHandler(registrationRpc.setApprovalPolicy)
  async setPolicy({
    caller,
    tenantId,
    input,
  }: RpcRequest<Rpcs['setApprovalPolicy']>): RpcResult<Rpcs['setApprovalPolicy']> {
    return this.#policies.set(caller, tenantId, input.cluster, input.policy);
  }

  @RpcHandler(registrationRpc.adoptionManifest)
  async adoptionManifest(_request: RpcRequest<Rpcs['adoptionManifest']>): RpcResult<Rpcs['adoptionManifest']> {
    return { manifest: await this.#importLinks.adoptionManifest() };
  }
}
