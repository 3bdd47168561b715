import { gitKeysRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { DesiredStateSigner } from './desired-state-signer.js';
import { GitHosts } from './git-hosts.js';

type Rpcs = typeof gitKeysRpc;

/** The keys service's side of its contract about Git. */
@Controller()
export class GitKeysController {
  readonly #signer: DesiredStateSigner;
  readonly #hosts: GitHosts;

  constructor(signer: DesiredStateSigner, hosts: GitHosts) {
    this.#signer = signer;
    this.#hosts = hosts;
  }

  @RpcHandler(gitKeysRpc.signDesiredState)
  async signDesiredState({
    tenantId,
    input,
  }: RpcRequest<Rpcs['signDesiredState']>): RpcResult<Rpcs['signDesiredState']> {
    return this.#signer.sign(tenantId, input.document);
  }

  @RpcHandler(gitKeysRpc.putGitHost)
  async putGitHost({ tenantId, input }: RpcRequest<Rpcs['putGitHost']>): RpcResult<Rpcs['putGitHost']> {
    return this.#hosts.put(tenantId, input);
  }

  @RpcHandler(gitKeysRpc.listGitHosts)
  async listGitHosts({ tenantId }: RpcRequest<Rpcs['listGitHosts']>): RpcResult<Rpcs['listGitHosts']> {
    return { hosts: await this.#hosts.list(tenantId) };
  }

  @RpcHandler(gitKeysRpc.deleteGitHost)
  async deleteGitHost({ tenantId, input }: RpcRequest<Rpcs['deleteGitHost']>): RpcResult<Rpcs['deleteGitHost']> {
    await this.#hosts.delete(tenantId, input);
    return {};
  }
}
