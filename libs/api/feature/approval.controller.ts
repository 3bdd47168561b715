import { registrationRpc, type ApprovalPolicy, type EnrolmentRequest, type Principal } from '@fairlead/contracts';
import { Controller, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { operations } from '../contract/operations.js';
import type { EnrolmentRequestList, ShownPolicy } from '../contract/schemas.js';
import { CurrentPrincipal, JsonBody, Params, Query, Serve } from '../http/serve.js';
import { Backend } from './backend.js';

interface ByName {
  readonly name: string;
}

interface ById {
  readonly id: string;
}

interface Chosen {
  readonly policy: ApprovalPolicy | null;
}

@Controller()
export class ApprovalController {
  constructor(private readonly backend: Backend) {}

  @Serve(operations.listEnrolmentRequests)
  list(
    @CurrentPrincipal() { tenantId }: Principal,
    @Query(operations.listEnrolmentRequests) query: { state?: EnrolmentRequest['state']; fingerprint?: string },
  ): Promise<EnrolmentRequestList> {
    return this.backend.read(registrationRpc.listEnrolmentRequests, tenantId, query);
  }

  @Serve(operations.approveEnrolment)
  approve(
    @CurrentPrincipal() { tenantId }: Principal,
    @Params(operations.approveEnrolment) { id }: ById,
    @JsonBody(operations.approveEnrolment) body: { cluster?: string },
  ): Promise<EnrolmentRequest> {
    return this.backend.write(registrationRpc.approveEnrolment, tenantId, { id, ...body });
  }

  @Serve(operations.rejectEnrolment)
  reject(
    @CurrentPrincipal() { tenantId }: Principal,
    @Params(operations.rejectEnrolment) { id }: ById,
    @JsonBody(operations.rejectEnrolment) { reason }: { reason: string },
  ): Promise<EnrolmentRequest> {
    return this.backend.write(registrationRpc.rejectEnrolment, tenantId, { id, reason });
  }

  @Serve(operations.getApprovalPolicy)
  getPolicy(@CurrentPrincipal() { tenantId }: Principal): Promise<ShownPolicy> {
    return this.backend.read(registrationRpc.getApprovalPolicy, tenantId, {});
  }

  @Serve(operations.setApprovalPolicy)
  setPolicy(
    @CurrentPrincipal() { tenantId }: Principal,
    @JsonBody(operations.setApprovalPolicy) { policy }: Chosen,
  ): Promise<ShownPolicy> {
    return this.backend.write(registrationRpc.setApprovalPolicy, tenantId, { policy });
  }

  @Serve(operations.getClusterApprovalPolicy)
  getClusterPolicy(
    @CurrentPrincipal() { tenantId }: Principal,
    @Params(operations.getClusterApprovalPolicy) { name: cluster }: ByName,
  ): Promise<ShownPolicy> {
    return this.backend.read(registrationRpc.getApprovalPolicy, tenantId, { cluster });
  }

  @Serve(operations.setClusterApprovalPolicy)
  setClusterPolicy(
    @CurrentPrincipal() { tenantId }: Principal,
    @Params(operations.setClusterApprovalPolicy) { name: cluster }: ByName,
    @JsonBody(operations.setClusterApprovalPolicy) { policy }: Chosen,
  ): Promise<ShownPolicy> {
    return this.backend.write(registrationRpc.setApprovalPolicy, tenantId, { cluster, policy });
  }

  @Serve(operations.adoptionManifest)
  async adoptionManifest(
    @CurrentPrincipal() { tenantId }: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    const { manifest } = await this.backend.read(registrationRpc.adoptionManifest, tenantId, {});
    void reply.type('text/yaml; charset=utf-8');
    return manifest;
  }
}
