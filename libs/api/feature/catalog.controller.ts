import { gitopsRpc, type Bundle, type CatalogRepository, type Principal } from '@fairlead/contracts';
import { Controller, Req } from '@nestjs/common';
import { catalogOperations, type BundleList, type CatalogList } from '../contract/catalog-operations.js';
import type { ApiRequest } from '../http/api-request.js';
import { CurrentPrincipal, JsonBody, Params, Query, Serve } from '../http/serve.js';
import { announcedBytes, bodyStream } from '../http/upload.js';
import { Backend } from './backend.js';
import { uploadBundle } from './upload-bundle.js';

type Tool = Bundle['tool'];

interface ByVersion {
  readonly tool: Tool;
  readonly version: string;
}

interface NewRepository {
  readonly name: string;
  readonly gitHost: string;
  readonly path: string;
  readonly create: boolean;
  readonly rotateKeysEverySeconds?: number | null | undefined;
}

/** Catalog repositories, and the install manifests of GitOps tools. */
@Controller()
export class CatalogController {
  constructor(private readonly backend: Backend) {}

  @Serve(catalogOperations.listCatalogRepositories)
  repositories(@CurrentPrincipal() { tenantId }: Principal): Promise<CatalogList> {
    return this.backend.read(gitopsRpc.listRepositories, tenantId, {});
  }

  @Serve(catalogOperations.addCatalogRepository)
  addRepository(
    @CurrentPrincipal() { tenantId, user: actor }: Principal,
    @JsonBody(catalogOperations.addCatalogRepository) repository: NewRepository,
  ): Promise<CatalogRepository> {
    return this.backend.write(gitopsRpc.addRepository, tenantId, { ...repository, actor });
  }

  @Serve(catalogOperations.removeCatalogRepository)
  async removeRepository(
    @CurrentPrincipal() { tenantId, user: actor }: Principal,
    @Params(catalogOperations.removeCatalogRepository) { name }: { readonly name: string },
  ): Promise<void> {
    await this.backend.write(gitopsRpc.removeRepository, tenantId, { name, actor });
  }

  @Serve(catalogOperations.listBundles)
  bundles(@CurrentPrincipal() { tenantId }: Principal): Promise<BundleList> {
    return this.backend.read(gitopsRpc.listBundles, tenantId, {});
  }

  @Serve(catalogOperations.uploadBundle)
  upload(
    @CurrentPrincipal() { tenantId, user: actor }: Principal,
    @Params(catalogOperations.uploadBundle) { tool, version }: ByVersion,
    @Query(catalogOperations.uploadBundle) query: { readonly digest: string; readonly origin: string },
    @Req() request: ApiRequest,
  ): Promise<Bundle> {
    const bytes = announcedBytes(request, catalogOperations.uploadBundle.upload);
    return uploadBundle(this.backend, tenantId, { tool, version, bytes, ...query, actor }, bodyStream(request));
  }

  @Serve(catalogOperations.importBundle)
  import(
    @CurrentPrincipal() { tenantId, user: actor }: Principal,
    @Params(catalogOperations.importBundle) { tool, version }: ByVersion,
    @JsonBody(catalogOperations.importBundle) from: { readonly url: string; readonly digest: string },
  ): Promise<Bundle> {
    return this.backend.write(gitopsRpc.importBundleUrl, tenantId, { tool, version, ...from, actor });
  }

  @Serve(catalogOperations.removeBundle)
  async removeBundle(
    @CurrentPrincipal() { tenantId, user: actor }: Principal,
    @Params(catalogOperations.removeBundle) { tool, version }: ByVersion,
  ): Promise<void> {
    await this.backend.write(gitopsRpc.removeBundle, tenantId, { tool, version, actor });
  }
}
