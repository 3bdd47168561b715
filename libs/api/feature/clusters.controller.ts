import { registrationRpc } from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import { IfRevision, type Expected } from '../http/revisions.js';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';
import { ServingRoot } from './serving-root.js';
import { ApiSettings } from './settings.js';
import { VisibleClusters } from './visible-clusters.js';

@Controller()
export class ClustersController {
  constructor(
    private readonly backend: Backend,
    private readonly servingRoot: ServingRoot,
    private readonly settings: ApiSettings,
    private readonly visible: VisibleClusters,
  ) {}

  @Serve('createCluster')
  create(@Asked() { tenantId, actor: by, body }: Call<'createCluster'>) {
    return this.backend.write(registrationRpc.createCluster, tenantId, { ...body, by });
  }

  @Serve('listClusters')
  list(@Asked() { principal, query }: Call<'listClusters'>) {
    return this.visible.list(principal, query);
  }

  @Serve('getCluster')
  get(@Asked() { principal, params }: Call<'getCluster'>) {
    return this.visible.get(principal, params.name);
  }

  @Serve('updateCluster')
  update(@Asked() { tenantId, actor: by, params, body }: Call<'updateCluster'>, @IfRevision() ifRevision: Expected) {
    return this.backend.write(registrationRpc.updateCluster, tenantId, { ...body, ...params, ifRevision, by });
  }

  @Serve('deleteCluster')
  async delete(@Asked() { tenantId, actor: by, params }: Call<'deleteCluster'>, @IfRevision() ifRevision: Expected) {
    await this.backend.write(registrationRpc.deleteCluster, tenantId, { ...params, ifRevision, by });
  }

  @Serve('revokeCluster')
  revoke(@Asked() { tenantId, actor: by, params, body }: Call<'revokeCluster'>) {
    return this.backend.write(registrationRpc.revokeCluster, tenantId, { ...params, ...body, by });
  }

  @Serve('createImportLink')
  async createImportLink(@Asked() { tenantId, actor: by, params }: Call<'createImportLink'>) {
    const { code, expiresAt } = await this.backend.write(registrationRpc.createImportLink, tenantId, { ...params, by });
    return { url: `${this.settings.publicUrl}/import/${code}`, expiresAt };
  }

  @Serve('clusterAccess')
  async access(@Asked() { principal, tenantId, params }: Call<'clusterAccess'>) {
    const [cluster, certificateAuthority] = await Promise.all([
      this.visible.get(principal, params.name),
      this.servingRoot.pem(tenantId),
    ]);
    return { cluster, doors: this.settings.doorsOf(params.name), certificateAuthority };
  }

  @Serve('listBootstrapTokens')
  listTokens(@Asked() { tenantId, params, query }: Call<'listBootstrapTokens'>) {
    return this.backend.read(registrationRpc.listBootstrapTokens, tenantId, { ...params, ...query });
  }

  @Serve('revokeBootstrapToken')
  revokeToken(@Asked() { tenantId, actor: by, params }: Call<'revokeBootstrapToken'>) {
    return this.backend.write(registrationRpc.revokeBootstrapToken, tenantId, { ...params, by });
  }

  @Serve('issueIdentity')
  issueIdentity(@Asked() { tenantId, actor: by, params, body }: Call<'issueIdentity'>) {
    return this.backend.write(registrationRpc.issueIdentity, tenantId, { ...params, ...body, by });
  }
}
