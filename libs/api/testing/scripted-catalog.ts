import { createHash, randomUUID } from 'node:crypto';
import { gitopsRpc, type Bundle } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import type { z } from 'zod';
import { Script } from './script.js';

type O = typeof gitopsRpc;
type Announced = z.infer<O['beginBundle']['input']>;

/** The gitops service, as far as it is about catalog repositories and bundles. */
@Controller()
export class CatalogScript {
  readonly #announced = new Map<string, Announced>();

  constructor(private readonly script: Script) {}

  @RpcHandler(gitopsRpc.addRepository)
  async add({ input }: RpcRequest<O['addRepository']>): RpcResult<O['addRepository']> {
    const { name, gitHost, path, create, actor, rotateKeysEverySeconds = 7_776_000 } = input;
    if (!this.script.gitHosts.has(gitHost)) throw new FairleadError('NOT_FOUND', `there is no Git host ${gitHost}`);
    if (path.endsWith('/missing') && !create) throw new FairleadError('NOT_FOUND', `${path} is not there`);
    this.script.actors.push(actor);
    const sshUrl = `ssh://git@git.test/${path}.git`;
    const createdAt = new Date().toISOString();
    const what = { id: randomUUID(), name, gitHost, path, sshUrl, defaultBranch: 'main' };
    const repository = { ...what, rotateKeysEverySeconds, createdAt };
    this.script.repositories.set(name, repository);
    return repository;
  }

  @RpcHandler(gitopsRpc.listRepositories)
  async list(_request: RpcRequest<O['listRepositories']>): RpcResult<O['listRepositories']> {
    return { repositories: [...this.script.repositories.values()] };
  }

  @RpcHandler(gitopsRpc.removeRepository)
  async remove({ input: { name } }: RpcRequest<O['removeRepository']>): RpcResult<O['removeRepository']> {
    const user = [...this.script.assignments.values()].find(({ repository }) => repository === name);
    if (user) throw new FairleadError('CONFLICT', `the assignment ${user.name} needs the repository ${name}`);
    if (this.script.repositories.delete(name)) return {};
    throw new FairleadError('NOT_FOUND', `there is no repository named ${name}`);
  }

  @RpcHandler(gitopsRpc.beginBundle)
  async begin({ input }: RpcRequest<O['beginBundle']>): RpcResult<O['beginBundle']> {
    const uploadId = randomUUID();
    this.#announced.set(uploadId, input);
    this.script.uploads.set(uploadId, []);
    return { uploadId };
  }

  @RpcHandler(gitopsRpc.bundlePiece)
  async piece({ input }: RpcRequest<O['bundlePiece']>): RpcResult<O['bundlePiece']> {
    if (this.script.pieceFailure) throw this.script.pieceFailure;
    const pieces = this.script.uploads.get(input.uploadId);
    if (!pieces) throw new FairleadError('NOT_FOUND', 'there is no such upload');
    const received = pieces.reduce((bytes, { length }) => bytes + length, 0);
    if (input.offset !== received) throw new FairleadError('CONFLICT', `the next piece begins at ${received}`);
    pieces.push(Buffer.from(input.piece, 'base64'));
    return {};
  }

  @RpcHandler(gitopsRpc.cancelBundle)
  async cancel({ input: { uploadId } }: RpcRequest<O['cancelBundle']>): RpcResult<O['cancelBundle']> {
    this.script.uploads.delete(uploadId);
    return {};
  }

  @RpcHandler(gitopsRpc.finishBundle)
  async finish({ input: { uploadId } }: RpcRequest<O['finishBundle']>): RpcResult<O['finishBundle']> {
    const [announced, pieces] = [this.#announced.get(uploadId), this.script.uploads.get(uploadId)];
    if (!announced || !pieces) throw new FairleadError('NOT_FOUND', 'there is no such upload');
    if (this.script.busyFinishes > 0) {
      this.script.busyFinishes -= 1;
      throw new FairleadError('RATE_LIMITED', 'other bundles are being read; try again in a few seconds');
    }
    const yaml = Buffer.concat(pieces);
    if (createHash('sha256').update(yaml).digest('hex') !== announced.digest) {
      throw new FairleadError('INVALID_ARGUMENT', 'the bundle is refused: it does not have the digest that was named');
    }
    this.script.bundleBytes = yaml;
    this.script.uploads.delete(uploadId);
    return this.#keep(announced, yaml.length);
  }

  @RpcHandler(gitopsRpc.importBundleUrl)
  async import({ input }: RpcRequest<O['importBundleUrl']>): RpcResult<O['importBundleUrl']> {
    return this.#keep({ ...input, origin: input.url }, 1_000);
  }

  @RpcHandler(gitopsRpc.listBundles)
  async bundles(_request: RpcRequest<O['listBundles']>): RpcResult<O['listBundles']> {
    return { bundles: [...this.script.bundles.values()] };
  }

  @RpcHandler(gitopsRpc.removeBundle)
  async removeBundle({ input }: RpcRequest<O['removeBundle']>): RpcResult<O['removeBundle']> {
    if (this.script.bundles.delete(`${input.tool} ${input.version}`)) return {};
    throw new FairleadError('NOT_FOUND', `there is no bundle ${input.tool} ${input.version}`);
  }

  #keep({ tool, version, digest, origin, actor }: Omit<Announced, 'bytes'>, bytes: number): Bundle {
    const known = this.script.bundles.get(`${tool} ${version}`);
    if (known && known.digest !== digest) {
      throw new FairleadError('ALREADY_EXISTS', `there is a bundle ${tool} ${version} with other contents`);
    }
    const images = ['ghcr.io/fluxcd/source-controller:v1.7.3'];
    const what = { id: randomUUID(), tool, version, digest, bytes, compressedBytes: 100, objects: 3, images };
    const bundle = { ...what, origin, importedBy: actor, importedAt: new Date().toISOString() };
    this.script.bundles.set(`${tool} ${version}`, bundle);
    return bundle;
  }
}
