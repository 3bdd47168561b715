import { registrationRpc, type Caller } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { ApprovalPolicies } from './approval-policies.js';
import { BootstrapTokens } from './bootstrap-tokens.js';
import { Clients } from './clients.js';
import { Clusters } from './clusters.js';
import { EnrolmentRequests } from './enrolment-requests.js';
import { Enrolments } from './enrolments.js';
import { ImportLinks } from './import-links.js';
import { LinkProblems } from './link-problems.js';
import { OpenPassages } from './open-passages.js';
import { ReportedFacts } from './reported-facts.js';
import { StaticIdentities } from './static-identities.js';
import { Tenants } from './tenants.js';

type Asked<Method extends keyof typeof registrationRpc> = RpcRequest<(typeof registrationRpc)[Method]>;

/** Of what somebody asks for at the API, that is who did it. */
function askedBy(caller: Caller, user: string | undefined): Caller {
  return user === undefined ? caller : { ...caller, user };
}

/** The registration service's side of its contract. */
@Controller()
export class RegistrationController {
  constructor(
    private readonly clusters: Clusters,
    private readonly importLinks: ImportLinks,
    private readonly enrolments: Enrolments,
    private readonly clients: Clients,
    private readonly requests: EnrolmentRequests,
    private readonly policies: ApprovalPolicies,
    private readonly tokens: BootstrapTokens,
    private readonly identities: StaticIdentities,
    private readonly linkProblems: LinkProblems,
    private readonly facts: ReportedFacts,
    private readonly passages: OpenPassages,
    private readonly tenants: Tenants,
  ) {}

  @RpcHandler(registrationRpc.createTenant)
  async createTenant({ caller, input: { by, name, quotas } }: Asked<'createTenant'>) {
    return this.tenants.create(caller, by, name, quotas);
  }

  @RpcHandler(registrationRpc.listTenants)
  async listTenants({ input }: Asked<'listTenants'>) {
    return this.tenants.list(input.after);
  }

  @RpcHandler(registrationRpc.getTenant)
  async getTenant({ input }: Asked<'getTenant'>) {
    return this.tenants.get(input.name);
  }

  @RpcHandler(registrationRpc.updateTenant)
  async updateTenant({ caller, input: { name, quotas, ...asked } }: Asked<'updateTenant'>) {
    return this.tenants.setQuotas(caller, asked, name, quotas);
  }

  @RpcHandler(registrationRpc.deleteTenant)
  async deleteTenant({ caller, input: { by, name } }: Asked<'deleteTenant'>) {
    await this.tenants.delete(caller, by, name);
    return {};
  }

  @RpcHandler(registrationRpc.createCluster)
  async createCluster({ caller, tenantId, input: { by, ...input } }: Asked<'createCluster'>) {
    return this.clusters.create(askedBy(caller, by), tenantId, input);
  }

  @RpcHandler(registrationRpc.listClusters)
  async listClusters({ tenantId, input }: Asked<'listClusters'>) {
    return this.clusters.list(tenantId, input);
  }

  @RpcHandler(registrationRpc.getCluster)
  async getCluster({ tenantId, input }: Asked<'getCluster'>) {
    return this.clusters.get(tenantId, input.name);
  }

  @RpcHandler(registrationRpc.updateCluster)
  async updateCluster({ caller, tenantId, input: { name, by, ...change } }: Asked<'updateCluster'>) {
    return this.clusters.update(askedBy(caller, by), tenantId, name, change);
  }

  @RpcHandler(registrationRpc.deleteCluster)
  async deleteCluster({ caller, tenantId, input }: Asked<'deleteCluster'>) {
    await this.clusters.delete(askedBy(caller, input.by), tenantId, input.name, input);
    return {};
  }

  @RpcHandler(registrationRpc.revokeCluster)
  async revokeCluster({ caller, tenantId, input }: Asked<'revokeCluster'>) {
    return this.clusters.revoke(askedBy(caller, input.by), tenantId, input.name, input.reason);
  }

  @RpcHandler(registrationRpc.createImportLink)
  async createImportLink({ caller, tenantId, input }: Asked<'createImportLink'>) {
    return this.importLinks.create(askedBy(caller, input.by), tenantId, input.name);
  }

  @RpcHandler(registrationRpc.redeemImportLink)
  async redeemImportLink({ caller, input }: Asked<'redeemImportLink'>) {
    return { manifest: await this.importLinks.redeem(caller, input.code) };
  }

  @RpcHandler(registrationRpc.installerManifest)
  async installerManifest({ tenantId, input }: Asked<'installerManifest'>) {
    return { manifest: await this.importLinks.installerManifest(tenantId, input.name) };
  }

  @RpcHandler(registrationRpc.createClient)
  async createClient({ caller, tenantId, input: { by, ...input } }: Asked<'createClient'>) {
    return this.clients.create(askedBy(caller, by), tenantId, input);
  }

  @RpcHandler(registrationRpc.listClients)
  async listClients({ tenantId, input }: Asked<'listClients'>) {
    return this.clients.list(tenantId, input.after);
  }

  @RpcHandler(registrationRpc.deleteClient)
  async deleteClient({ caller, tenantId, input }: Asked<'deleteClient'>) {
    await this.clients.delete(askedBy(caller, input.by), tenantId, input.name);
    return {};
  }

  @RpcHandler(registrationRpc.enrol)
  async enrol({ caller, input }: Asked<'enrol'>) {
    return this.enrolments.enrol(caller, input);
  }

  @RpcHandler(registrationRpc.listEnrolmentRequests)
  async list({ tenantId, input }: Asked<'listEnrolmentRequests'>) {
    return this.requests.list(tenantId, input);
  }

  @RpcHandler(registrationRpc.approveEnrolment)
  async approve({ caller, tenantId, input }: Asked<'approveEnrolment'>) {
    return this.requests.approve(askedBy(caller, input.by), tenantId, input.id, input.cluster);
  }

  @RpcHandler(registrationRpc.rejectEnrolment)
  async reject({ caller, tenantId, input }: Asked<'rejectEnrolment'>) {
    return this.requests.reject(askedBy(caller, input.by), tenantId, input.id, input.reason);
  }

  @RpcHandler(registrationRpc.getApprovalPolicy)
  async getPolicy({ tenantId, input }: Asked<'getApprovalPolicy'>) {
    return this.policies.get(tenantId, input.cluster);
  }

  @RpcHandler(registrationRpc.setApprovalPolicy)
  async setPolicy({ caller, tenantId, input }: Asked<'setApprovalPolicy'>) {
    return this.policies.set(askedBy(caller, input.by), tenantId, input.cluster, input.policy);
  }

  @RpcHandler(registrationRpc.adoptionManifest)
  async adoptionManifest() {
    return { manifest: await this.importLinks.adoptionManifest() };
  }

  @RpcHandler(registrationRpc.listBootstrapTokens)
  async listTokens({ tenantId, input }: Asked<'listBootstrapTokens'>) {
    return this.tokens.list(tenantId, input.name, input.after);
  }

  @RpcHandler(registrationRpc.revokeBootstrapToken)
  async revokeToken({ caller, tenantId, input }: Asked<'revokeBootstrapToken'>) {
    return this.tokens.revoke(caller, tenantId, input);
  }

  @RpcHandler(registrationRpc.issueIdentity)
  async issueIdentity({ caller, tenantId, input }: Asked<'issueIdentity'>) {
    return this.identities.issue(caller, tenantId, input);
  }

  @RpcHandler(registrationRpc.reportLinkProblems)
  async reportLinkProblems({ caller, input }: Asked<'reportLinkProblems'>) {
    await this.linkProblems.report(caller, input.troubles);
    return {};
  }

  @RpcHandler(registrationRpc.reportFacts)
  async reportFacts({ caller, input }: Asked<'reportFacts'>) {
    await this.facts.report(caller, input.clusters);
    return {};
  }

  @RpcHandler(registrationRpc.listPassages)
  async listPassages({ tenantId, input }: Asked<'listPassages'>) {
    return this.passages.list(tenantId, input);
  }

  @RpcHandler(registrationRpc.endPassages)
  async endPassages({ tenantId, input }: Asked<'endPassages'>) {
    return this.passages.end(tenantId, input);
  }
}
