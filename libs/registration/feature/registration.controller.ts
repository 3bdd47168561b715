import { registrationRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { ApiTokens } from './api-tokens.js';
import { Clients } from './clients.js';
import { Clusters } from './clusters.js';
import { Enrolments } from './enrolments.js';
import { ImportLinks } from './import-links.js';

type Rpcs = typeof registrationRpc;

/** The registration service's side of its contract. */
@Controller()
export class RegistrationController {
  readonly #clusters: Clusters;
  readonly #importLinks: ImportLinks;
  readonly #enrolments: Enrolments;
  readonly #apiTokens: ApiTokens;
  readonly #clients: Clients;

  constructor(
    clusters: Clusters,
    importLinks: ImportLinks,
    enrolments: Enrolments,
    apiTokens: ApiTokens,
    clients: Clients,
  ) {
    this.#clusters = clusters;
    this.#importLinks = importLinks;
    this.#enrolments = enrolments;
    this.#apiTokens = apiTokens;
    this.#clients = clients;
  }

  @RpcHandler(registrationRpc.authenticate)
  async authenticate({ input }: RpcRequest<Rpcs['authenticate']>): RpcResult<Rpcs['authenticate']> {
    return this.#apiTokens.authenticate(input.tokenHash);
  }

  @RpcHandler(registrationRpc.createCluster)
  async createCluster({
    caller,
    tenantId,
    input,
  }: RpcRequest<Rpcs['createCluster']>): RpcResult<Rpcs['createCluster']> {
    return this.#clusters.create(caller, tenantId, input);
  }

  @RpcHandler(registrationRpc.listClusters)
  async listClusters({ tenantId, input }: RpcRequest<Rpcs['listClusters']>): RpcResult<Rpcs['listClusters']> {
    return this.#clusters.list(tenantId, input.after);
  }

  @RpcHandler(registrationRpc.getCluster)
  async getCluster({ tenantId, input }: RpcRequest<Rpcs['getCluster']>): RpcResult<Rpcs['getCluster']> {
    return this.#clusters.get(tenantId, input.name);
  }

  @RpcHandler(registrationRpc.updateCluster)
  async updateCluster({
    caller,
    tenantId,
    input: { name, ...change },
  }: RpcRequest<Rpcs['updateCluster']>): RpcResult<Rpcs['updateCluster']> {
    return this.#clusters.update(caller, tenantId, name, change);
  }

  @RpcHandler(registrationRpc.deleteCluster)
  async deleteCluster({
    caller,
    tenantId,
    input,
  }: RpcRequest<Rpcs['deleteCluster']>): RpcResult<Rpcs['deleteCluster']> {
    await this.#clusters.delete(caller, tenantId, input.name);
    return {};
  }

  @RpcHandler(registrationRpc.revokeCluster)
  async revokeCluster({
    caller,
    tenantId,
    input,
  }: RpcRequest<Rpcs['revokeCluster']>): RpcResult<Rpcs['revokeCluster']> {
    return this.#clusters.revoke(caller, tenantId, input.name, input.reason);
  }

  @RpcHandler(registrationRpc.createImportLink)
  async createImportLink({
    caller,
    tenantId,
    input,
  }: RpcRequest<Rpcs['createImportLink']>): RpcResult<Rpcs['createImportLink']> {
    return this.#importLinks.create(caller, tenantId, input.name);
  }

  @RpcHandler(registrationRpc.redeemImportLink)
  async redeemImportLink({ caller, input }: RpcRequest<Rpcs['redeemImportLink']>): RpcResult<Rpcs['redeemImportLink']> {
    return { manifest: await this.#importLinks.redeem(caller, input.code) };
  }

  @RpcHandler(registrationRpc.installerManifest)
  async installerManifest({
    tenantId,
    input,
  }: RpcRequest<Rpcs['installerManifest']>): RpcResult<Rpcs['installerManifest']> {
    return { manifest: await this.#importLinks.installerManifest(tenantId, input.name) };
  }

  @RpcHandler(registrationRpc.createClient)
  async createClient({ caller, tenantId, input }: RpcRequest<Rpcs['createClient']>): RpcResult<Rpcs['createClient']> {
    return this.#clients.create(caller, tenantId, input);
  }

  @RpcHandler(registrationRpc.listClients)
  async listClients({ tenantId, input }: RpcRequest<Rpcs['listClients']>): RpcResult<Rpcs['listClients']> {
    return this.#clients.list(tenantId, input.after);
  }

  @RpcHandler(registrationRpc.deleteClient)
  async deleteClient({ caller, tenantId, input }: RpcRequest<Rpcs['deleteClient']>): RpcResult<Rpcs['deleteClient']> {
    await this.#clients.delete(caller, tenantId, input.name);
    return {};
  }

  @RpcHandler(registrationRpc.enrol)
  async enrol({ caller, input }: RpcRequest<Rpcs['enrol']>): RpcResult<Rpcs['enrol']> {
    return this.#enrolments.enrol(caller, input);
  }
}
