import { gitKeysRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { DesiredStateSigner } from './desired-state-signer.js';
import { GitHosts } from './git-hosts.js';
import { HostKeys } from './host-keys.js';

type Rpcs = typeof gitKeysRpc;

/** The keys service's side of its contract about Git. */
@Controller()
export class GitKeysController {
  readonly #signer: DesiredStateSigner;
  readonly #hosts: GitHosts;
  readonly #hostKeys: HostKeys;

  constructor(signer: DesiredStateSigner, hosts: GitHosts, hostKeys: HostKeys) {
    this.#signer = signer;
    this.#hosts = hosts;
    this.#hostKeys = hostKeys;
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

  @RpcHandler(gitKeysRpc.scanHostKeys)
  async scanHostKeys({ tenantId, input }: RpcRequest<Rpcs['scanHostKeys']>): RpcResult<Rpcs['scanHostKeys']> {
    return this.#hostKeys.scan(tenantId, input.name);
  }

  @RpcHandler(gitKeysRpc.approveHostKeys)
  async approveHostKeys({ tenantId, input }: RpcRequest<Rpcs['approveHostKeys']>): RpcResult<Rpcs['approveHostKeys']> {
    return this.#hostKeys.approve(tenantId, input);
  }
}
