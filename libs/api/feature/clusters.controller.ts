import {
  registrationRpc,
  type Cluster,
  type ClusterChange,
  type CreateCluster,
  type Principal,
} from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import { operations } from '../contract/operations.js';
import type { ClusterAccess, ClusterList, ImportLink } from '../contract/schemas.js';
import { CurrentPrincipal, JsonBody, Params, Query, Serve } from '../http/serve.js';
import { Backend } from './backend.js';
import { ServingRoot } from './serving-root.js';
import { ApiSettings } from './settings.js';

interface ByName {
  readonly name: string;
}

@Controller()
export class ClustersController {
  constructor(
    private readonly backend: Backend,
    private readonly servingRoot: ServingRoot,
    private readonly settings: ApiSettings,
  ) {}

  @Serve(operations.createCluster)
  create(
    @CurrentPrincipal() { tenantId }: Principal,
    @JsonBody(operations.createCluster) body: CreateCluster,
  ): Promise<Cluster> {
    return this.backend.write(registrationRpc.createCluster, tenantId, body);
  }

  @Serve(operations.listClusters)
  list(
    @CurrentPrincipal() { tenantId }: Principal,
    @Query(operations.listClusters) page: { after?: string },
  ): Promise<ClusterList> {
    return this.backend.read(registrationRpc.listClusters, tenantId, page);
  }

  @Serve(operations.getCluster)
  get(@CurrentPrincipal() { tenantId }: Principal, @Params(operations.getCluster) { name }: ByName): Promise<Cluster> {
    return this.backend.read(registrationRpc.getCluster, tenantId, { name });
  }

  @Serve(operations.updateCluster)
  update(
    @CurrentPrincipal() { tenantId }: Principal,
    @Params(operations.updateCluster) { name }: ByName,
    @JsonBody(operations.updateCluster) change: ClusterChange,
  ): Promise<Cluster> {
    return this.backend.write(registrationRpc.updateCluster, tenantId, { ...change, name });
  }

  @Serve(operations.deleteCluster)
  async delete(
    @CurrentPrincipal() { tenantId }: Principal,
    @Params(operations.deleteCluster) { name }: ByName,
  ): Promise<void> {
    await this.backend.write(registrationRpc.deleteCluster, tenantId, { name });
  }

  @Serve(operations.revokeCluster)
  revoke(
    @CurrentPrincipal() { tenantId }: Principal,
    @Params(operations.revokeCluster) { name }: ByName,
    @JsonBody(operations.revokeCluster) { reason }: { reason: string },
  ): Promise<Cluster> {
    return this.backend.write(registrationRpc.revokeCluster, tenantId, { name, reason });
  }

  @Serve(operations.createImportLink)
  async createImportLink(
    @CurrentPrincipal() { tenantId }: Principal,
    @Params(operations.createImportLink) { name }: ByName,
  ): Promise<ImportLink> {
    const { code, expiresAt } = await this.backend.write(registrationRpc.createImportLink, tenantId, { name });
    return { url: `${this.settings.publicUrl}/import/${code}`, expiresAt };
  }

  @Serve(operations.clusterAccess)
  async access(
    @CurrentPrincipal() { tenantId }: Principal,
    @Params(operations.clusterAccess) { name }: ByName,
  ): Promise<ClusterAccess> {
    const [cluster, certificateAuthority] = await Promise.all([
      this.backend.read(registrationRpc.getCluster, tenantId, { name }),
      this.servingRoot.pem(tenantId),
    ]);
    return { cluster, doors: this.settings.doorsOf(name), certificateAuthority };
  }
}
