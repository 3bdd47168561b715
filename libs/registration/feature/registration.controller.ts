import { registrationRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { ApiTokens } from './api-tokens.js';
import { Clients } from './clients.js';
import { Clusters } from './clusters.js';
import { Enrolments } from './enrolments.js';
import { ImportLinks } from './import-links.js';

type Asked<Method extends keyof typeof registrationRpc> = RpcRequest<(typeof registrationRpc)[Method]>;

/** The registration service's side of its contract. */
@Controller()
export class RegistrationController {
  constructor(
    private readonly clusters: Clusters,
    private readonly importLinks: ImportLinks,
    private readonly enrolments: Enrolments,
    private readonly apiTokens: ApiTokens,
    private readonly clients: Clients,
  ) {}

  @RpcHandler(registrationRpc.authenticate)
  async authenticate({ input }: Asked<'authenticate'>) {
    return this.apiTokens.authenticate(input.tokenHash);
  }

  @RpcHandler(registrationRpc.createCluster)
  async createCluster({ caller, tenantId, input }: Asked<'createCluster'>) {
    return this.clusters.create(caller, tenantId, input);
  }

  @RpcHandler(registrationRpc.listClusters)
  async listClusters({ tenantId, input }: Asked<'listClusters'>) {
    return this.clusters.list(tenantId, input.after);
  }

  @RpcHandler(registrationRpc.getCluster)
  async getCluster({ tenantId, input }: Asked<'getCluster'>) {
    return this.clusters.get(tenantId, input.name);
  }

  @RpcHandler(registrationRpc.updateCluster)
  async updateCluster({ caller, tenantId, input: { name, ...change } }: Asked<'updateCluster'>) {
    return this.clusters.update(caller, tenantId, name, change);
  }

  @RpcHandler(registrationRpc.deleteCluster)
  async deleteCluster({ caller, tenantId, input }: Asked<'deleteCluster'>) {
    await this.clusters.delete(caller, tenantId, input.name);
    return {};
  }

  @RpcHandler(registrationRpc.revokeCluster)
  async revokeCluster({ caller, tenantId, input }: Asked<'revokeCluster'>) {
    return this.clusters.revoke(caller, tenantId, input.name, input.reason);
  }

  @RpcHandler(registrationRpc.createImportLink)
  async createImportLink({ caller, tenantId, input }: Asked<'createImportLink'>) {
    return this.importLinks.create(caller, tenantId, input.name);
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
  async createClient({ caller, tenantId, input }: Asked<'createClient'>) {
    return this.clients.create(caller, tenantId, input);
  }

  @RpcHandler(registrationRpc.listClients)
  async listClients({ tenantId, input }: Asked<'listClients'>) {
    return this.clients.list(tenantId, input.after);
  }

  @RpcHandler(registrationRpc.deleteClient)
  async deleteClient({ caller, tenantId, input }: Asked<'deleteClient'>) {
    await this.clients.delete(caller, tenantId, input.name);
    return {};
  }

  @RpcHandler(registrationRpc.enrol)
  async enrol({ caller, input }: Asked<'enrol'>) {
    return this.enrolments.enrol(caller, input);
  }
}
