import { gitKeysRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { DeployKeys } from './deploy-keys.js';
import { DesiredStateSigner } from './desired-state-signer.js';
import { GitHosts } from './git-hosts.js';
import { HostKeys } from './host-keys.js';
import { Repositories } from './repositories.js';

type Rpcs = typeof gitKeysRpc;

/** The keys service's side of its contract about Git. */
@Controller()
export class GitKeysController {
  readonly #signer: DesiredStateSigner;
  readonly #hosts: GitHosts;
  readonly #hostKeys: HostKeys;
  readonly #deployKeys: DeployKeys;
  readonly #repositories: Repositories;

  constructor(
    signer: DesiredStateSigner,
    hosts: GitHosts,
    hostKeys: HostKeys,
    deployKeys: DeployKeys,
    repositories: Repositories,
  ) {
    this.#signer = signer;
    this.#hosts = hosts;
    this.#hostKeys = hostKeys;
    this.#deployKeys = deployKeys;
    this.#repositories = repositories;
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

  @RpcHandler(gitKeysRpc.openRepository)
  async openRepository({ tenantId, input }: RpcRequest<Rpcs['openRepository']>): RpcResult<Rpcs['openRepository']> {
    return this.#repositories.open(tenantId, input);
  }

  @RpcHandler(gitKeysRpc.wantDeployKey)
  async wantDeployKey({ tenantId, input }: RpcRequest<Rpcs['wantDeployKey']>): RpcResult<Rpcs['wantDeployKey']> {
    return this.#deployKeys.want(tenantId, input);
  }

  @RpcHandler(gitKeysRpc.dropDeployKey)
  async dropDeployKey({ tenantId, input }: RpcRequest<Rpcs['dropDeployKey']>): RpcResult<Rpcs['dropDeployKey']> {
    return this.#deployKeys.drop(tenantId, input);
  }

  @RpcHandler(gitKeysRpc.listDeployKeys)
  async listDeployKeys({ tenantId, input }: RpcRequest<Rpcs['listDeployKeys']>): RpcResult<Rpcs['listDeployKeys']> {
    return this.#deployKeys.list(tenantId, input);
  }
}
