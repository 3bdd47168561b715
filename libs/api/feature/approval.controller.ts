import { registrationRpc } from '@fairlead/contracts';
import { Controller, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';

@Controller()
export class ApprovalController {
  constructor(private readonly backend: Backend) {}

  @Serve('listEnrolmentRequests')
  list(@Asked() { tenantId, query }: Call<'listEnrolmentRequests'>) {
    return this.backend.read(registrationRpc.listEnrolmentRequests, tenantId, query);
  }

  @Serve('approveEnrolment')
  approve(@Asked() { tenantId, actor: by, params, body }: Call<'approveEnrolment'>) {
    return this.backend.write(registrationRpc.approveEnrolment, tenantId, { ...params, ...body, by });
  }

  @Serve('rejectEnrolment')
  reject(@Asked() { tenantId, actor: by, params, body }: Call<'rejectEnrolment'>) {
    return this.backend.write(registrationRpc.rejectEnrolment, tenantId, { ...params, ...body, by });
  }

  @Serve('getApprovalPolicy')
  getPolicy(@Asked() { tenantId }: Call<'getApprovalPolicy'>) {
    return this.backend.read(registrationRpc.getApprovalPolicy, tenantId, {});
  }

  @Serve('setApprovalPolicy')
  setPolicy(@Asked() { tenantId, actor: by, body }: Call<'setApprovalPolicy'>) {
    return this.backend.write(registrationRpc.setApprovalPolicy, tenantId, { ...body, by });
  }

  @Serve('getClusterApprovalPolicy')
  getClusterPolicy(@Asked() { tenantId, params: { name: cluster } }: Call<'getClusterApprovalPolicy'>) {
    return this.backend.read(registrationRpc.getApprovalPolicy, tenantId, { cluster });
  }

  @Serve('setClusterApprovalPolicy')
  setClusterPolicy(
    @Asked() { tenantId, actor: by, params: { name: cluster }, body }: Call<'setClusterApprovalPolicy'>,
  ) {
    return this.backend.write(registrationRpc.setApprovalPolicy, tenantId, { cluster, ...body, by });
  }

  @Serve('adoptionManifest')
  async adoptionManifest(
    @Asked() { tenantId }: Call<'adoptionManifest'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { manifest } = await this.backend.read(registrationRpc.adoptionManifest, tenantId, {});
    void reply.type('text/yaml; charset=utf-8');
    return manifest;
  }
}
