import { gitopsRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { BundleImports } from './bundle-imports.js';
import { BundleUploads } from './bundle-uploads.js';
import { Bundles } from './bundles.js';
import { Repositories } from './repositories.js';

type Rpcs = typeof gitopsRpc;

/** The part of the contract that is about repositories and bundles. */
@Controller()
export class CatalogController {
  readonly #repositories: Repositories;
  readonly #bundles: Bundles;
  readonly #uploads: BundleUploads;
  readonly #imports: BundleImports;

  constructor(repositories: Repositories, bundles: Bundles, uploads: BundleUploads, imports: BundleImports) {
    this.#repositories = repositories;
    this.#bundles = bundles;
    this.#uploads = uploads;
    this.#imports = imports;
  }

  @RpcHandler(gitopsRpc.addRepository)
  async addRepository({
    caller,
    tenantId,
    input,
  }: RpcRequest<Rpcs['addRepository']>): RpcResult<Rpcs['addRepository']> {
    return this.#repositories.add(caller, tenantId, input);
  }

  @RpcHandler(gitopsRpc.listRepositories)
  async listRepositories({ tenantId }: RpcRequest<Rpcs['listRepositories']>): RpcResult<Rpcs['listRepositories']> {
    return { repositories: await this.#repositories.list(tenantId) };
  }

  @RpcHandler(gitopsRpc.removeRepository)
  async removeRepository({
    caller,
    tenantId,
    input,
  }: RpcRequest<Rpcs['removeRepository']>): RpcResult<Rpcs['removeRepository']> {
    await this.#repositories.remove(caller, tenantId, input.name, input.actor);
    return {};
  }

  @RpcHandler(gitopsRpc.beginBundle)
  async beginBundle({ tenantId, input }: RpcRequest<Rpcs['beginBundle']>): RpcResult<Rpcs['beginBundle']> {
    return this.#uploads.begin(tenantId, input);
  }

  @RpcHandler(gitopsRpc.bundlePiece)
  async bundlePiece({ tenantId, input }: RpcRequest<Rpcs['bundlePiece']>): RpcResult<Rpcs['bundlePiece']> {
    await this.#uploads.piece(tenantId, input.uploadId, input.offset, Buffer.from(input.piece, 'base64'));
    return {};
  }

  @RpcHandler(gitopsRpc.finishBundle)
  async finishBundle({ caller, tenantId, input }: RpcRequest<Rpcs['finishBundle']>): RpcResult<Rpcs['finishBundle']> {
    return this.#uploads.finish(caller, tenantId, input.uploadId);
  }

  @RpcHandler(gitopsRpc.cancelBundle)
  async cancelBundle({ tenantId, input }: RpcRequest<Rpcs['cancelBundle']>): RpcResult<Rpcs['cancelBundle']> {
    await this.#uploads.cancel(tenantId, input.uploadId);
    return {};
  }

  @RpcHandler(gitopsRpc.importBundleUrl)
  async importBundleUrl({
    caller,
    tenantId,
    input,
  }: RpcRequest<Rpcs['importBundleUrl']>): RpcResult<Rpcs['importBundleUrl']> {
    return this.#imports.fromUrl(caller, tenantId, input);
  }

  @RpcHandler(gitopsRpc.listBundles)
  async listBundles({ tenantId }: RpcRequest<Rpcs['listBundles']>): RpcResult<Rpcs['listBundles']> {
    return { bundles: await this.#bundles.list(tenantId) };
  }

  @RpcHandler(gitopsRpc.removeBundle)
  async removeBundle({ caller, tenantId, input }: RpcRequest<Rpcs['removeBundle']>): RpcResult<Rpcs['removeBundle']> {
    await this.#bundles.remove(caller, tenantId, input);
    return {};
  }

  @RpcHandler(gitopsRpc.bundleChunk)
  async bundleChunk({ tenantId, input }: RpcRequest<Rpcs['bundleChunk']>): RpcResult<Rpcs['bundleChunk']> {
    return this.#bundles.chunk(tenantId, input);
  }
}
