import { enrolmentPlaceText, registrationRpc, type ApprovalPolicy, type EnrolmentRequest } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { pageByPlace } from './page-by-place.js';
import { Script } from './script.js';

type R = typeof registrationRpc;

/** Registration, as far as it is about who gets in. */
@Controller()
export class ApprovalScript {
  constructor(private readonly script: Script) {}

  @RpcHandler(registrationRpc.listEnrolmentRequests)
  async list({ input }: RpcRequest<R['listEnrolmentRequests']>): RpcResult<R['listEnrolmentRequests']> {
    const all = [...this.script.requests.values()];
    const { state: wanted, fingerprint: start = '' } = input;
    const meant = all.filter(
      ({ state, fingerprint }) => (wanted === undefined || state === wanted) && fingerprint.startsWith(start),
    );
    const place = ({ cluster, createdAt, id }: EnrolmentRequest): string =>
      enrolmentPlaceText({ invited: cluster !== null, atMs: Date.parse(createdAt), id });
    const { items: requests, ...next } = pageByPlace(this.script, meant, input.after, place);
    return { requests, ...next };
  }

  @RpcHandler(registrationRpc.approveEnrolment)
  async approve({ input }: RpcRequest<R['approveEnrolment']>): RpcResult<R['approveEnrolment']> {
    return this.#decide(input.id, { state: 'approved', cluster: input.cluster ?? null });
  }

  @RpcHandler(registrationRpc.rejectEnrolment)
  async reject({ input }: RpcRequest<R['rejectEnrolment']>): RpcResult<R['rejectEnrolment']> {
    return this.#decide(input.id, { state: 'rejected', reason: input.reason });
  }

  @RpcHandler(registrationRpc.getApprovalPolicy)
  async getPolicy({ input }: RpcRequest<R['getApprovalPolicy']>): RpcResult<R['getApprovalPolicy']> {
    return this.#policyOf(input.cluster);
  }

  @RpcHandler(registrationRpc.setApprovalPolicy)
  async setPolicy({ input }: RpcRequest<R['setApprovalPolicy']>): RpcResult<R['setApprovalPolicy']> {
    if (input.policy === 'insecure-always-approve') throw new FairleadError('FORBIDDEN', 'it needs a flag');
    this.script.policies.set(input.cluster ?? '', input.policy);
    return this.#policyOf(input.cluster);
  }

  @RpcHandler(registrationRpc.adoptionManifest)
  async adoptionManifest(_request: RpcRequest<R['adoptionManifest']>): RpcResult<R['adoptionManifest']> {
    return { manifest: 'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: adopted\n' };
  }

  #policyOf(cluster = ''): { set: ApprovalPolicy | null; effective: ApprovalPolicy } {
    const set = this.script.policies.get(cluster) ?? null;
    return { set, effective: set ?? this.script.policies.get('') ?? 'token' };
  }

  #decide(id: string, change: Partial<EnrolmentRequest>): EnrolmentRequest {
    const known = this.script.requests.get(id);
    if (!known) throw new FairleadError('NOT_FOUND', 'there is no such enrolment request');
    const decided = { ...known, ...change, decidedAt: new Date().toISOString() };
    this.script.requests.set(id, decided);
    return decided;
  }
}
