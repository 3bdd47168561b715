import { gitopsRpc } from '@fairlead/contracts';
import { Controller, Req } from '@nestjs/common';
import { catalogOperations } from '../contract/catalog-operations.js';
import type { ApiRequest } from '../http/api-request.js';
import { Asked, Serve, type Call } from '../http/serve.js';
import { announcedBytes, bodyStream } from '../http/upload.js';
import { Backend } from './backend.js';
import { uploadBundle } from './upload-bundle.js';

/** Catalog repositories, and the install manifests of GitOps tools. */
@Controller()
export class CatalogController {
  constructor(private readonly backend: Backend) {}

  @Serve('listCatalogRepositories')
  repositories(@Asked() { tenantId }: Call<'listCatalogRepositories'>) {
    return this.backend.read(gitopsRpc.listRepositories, tenantId, {});
  }

  @Serve('addCatalogRepository')
  addRepository(@Asked() { tenantId, actor, body }: Call<'addCatalogRepository'>) {
    return this.backend.write(gitopsRpc.addRepository, tenantId, { ...body, actor });
  }

  @Serve('removeCatalogRepository')
  async removeRepository(@Asked() { tenantId, actor, params }: Call<'removeCatalogRepository'>) {
    await this.backend.write(gitopsRpc.removeRepository, tenantId, { ...params, actor });
  }

  @Serve('listBundles')
  bundles(@Asked() { tenantId }: Call<'listBundles'>) {
    return this.backend.read(gitopsRpc.listBundles, tenantId, {});
  }

  @Serve('uploadBundle')
  upload(@Asked() { tenantId, actor, params, query }: Call<'uploadBundle'>, @Req() request: ApiRequest) {
    const bytes = announcedBytes(request, catalogOperations.uploadBundle.upload);
    return uploadBundle(this.backend, tenantId, { ...params, bytes, ...query, actor }, bodyStream(request));
  }

  @Serve('importBundle')
  import(@Asked() { tenantId, actor, params, body }: Call<'importBundle'>) {
    return this.backend.write(gitopsRpc.importBundleUrl, tenantId, { ...params, ...body, actor });
  }

  @Serve('removeBundle')
  async removeBundle(@Asked() { tenantId, actor, params }: Call<'removeBundle'>) {
    await this.backend.write(gitopsRpc.removeBundle, tenantId, { ...params, actor });
  }
}
