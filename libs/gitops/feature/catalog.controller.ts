import { gitopsRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { BundleImports } from './bundle-imports.js';
import { BundleUploads } from './bundle-uploads.js';
import { Bundles } from './bundles.js';
import { Repositories } from './repositories.js';

type Asked<Method extends keyof typeof gitopsRpc> = RpcRequest<(typeof gitopsRpc)[Method]>;

/** The part of the contract that is about repositories and bundles. */
@Controller()
export class CatalogController {
  constructor(
    private readonly repositories: Repositories,
    private readonly bundles: Bundles,
    private readonly uploads: BundleUploads,
    private readonly imports: BundleImports,
  ) {}

  @RpcHandler(gitopsRpc.addRepository)
  async addRepository({ caller, tenantId, input }: Asked<'addRepository'>) {
    return this.repositories.add(caller, tenantId, input);
  }

  @RpcHandler(gitopsRpc.listRepositories)
  async listRepositories({ tenantId }: Asked<'listRepositories'>) {
    return { repositories: await this.repositories.list(tenantId) };
  }

  @RpcHandler(gitopsRpc.removeRepository)
  async removeRepository({ caller, tenantId, input }: Asked<'removeRepository'>) {
    await this.repositories.remove(caller, tenantId, input.name, input.actor);
    return {};
  }

  @RpcHandler(gitopsRpc.beginBundle)
  async beginBundle({ tenantId, input }: Asked<'beginBundle'>) {
    return this.uploads.begin(tenantId, input);
  }

  @RpcHandler(gitopsRpc.bundlePiece)
  async bundlePiece({ tenantId, input }: Asked<'bundlePiece'>) {
    await this.uploads.piece(tenantId, input.uploadId, input.offset, Buffer.from(input.piece, 'base64'));
    return {};
  }

  @RpcHandler(gitopsRpc.finishBundle)
  async finishBundle({ caller, tenantId, input }: Asked<'finishBundle'>) {
    return this.uploads.finish(caller, tenantId, input.uploadId);
  }

  @RpcHandler(gitopsRpc.cancelBundle)
  async cancelBundle({ tenantId, input }: Asked<'cancelBundle'>) {
    await this.uploads.cancel(tenantId, input.uploadId);
    return {};
  }

  @RpcHandler(gitopsRpc.importBundleUrl)
  async importBundleUrl({ caller, tenantId, input }: Asked<'importBundleUrl'>) {
    return this.imports.fromUrl(caller, tenantId, input);
  }

  @RpcHandler(gitopsRpc.listBundles)
  async listBundles({ tenantId }: Asked<'listBundles'>) {
    return { bundles: await this.bundles.list(tenantId) };
  }

  @RpcHandler(gitopsRpc.removeBundle)
  async removeBundle({ caller, tenantId, input }: Asked<'removeBundle'>) {
    await this.bundles.remove(caller, tenantId, input);
    return {};
  }

  @RpcHandler(gitopsRpc.bundleChunk)
  async bundleChunk({ tenantId, input }: Asked<'bundleChunk'>) {
    return this.bundles.chunk(tenantId, input);
  }
}
