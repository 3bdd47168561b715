import { gitKeysRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { DeployKeys } from './deploy-keys.js';
import { DesiredStateSigner } from './desired-state-signer.js';
import { GitHosts } from './git-hosts.js';
import { HostKeys } from './host-keys.js';
import { Repositories } from './repositories.js';

type Asked<Method extends keyof typeof gitKeysRpc> = RpcRequest<(typeof gitKeysRpc)[Method]>;

/** The keys service's side of its contract about Git. */
@Controller()
export class GitKeysController {
  constructor(
    private readonly signer: DesiredStateSigner,
    private readonly hosts: GitHosts,
    private readonly hostKeys: HostKeys,
    private readonly deployKeys: DeployKeys,
    private readonly repositories: Repositories,
  ) {}

  @RpcHandler(gitKeysRpc.signDesiredState)
  async signDesiredState({ tenantId, input }: Asked<'signDesiredState'>) {
    return this.signer.sign(tenantId, input.document);
  }

  @RpcHandler(gitKeysRpc.putGitHost)
  async putGitHost({ tenantId, input }: Asked<'putGitHost'>) {
    return this.hosts.put(tenantId, input);
  }

  @RpcHandler(gitKeysRpc.listGitHosts)
  async listGitHosts({ tenantId }: Asked<'listGitHosts'>) {
    return { hosts: await this.hosts.list(tenantId) };
  }

  @RpcHandler(gitKeysRpc.deleteGitHost)
  async deleteGitHost({ tenantId, input }: Asked<'deleteGitHost'>) {
    await this.hosts.delete(tenantId, input);
    return {};
  }

  @RpcHandler(gitKeysRpc.scanHostKeys)
  async scanHostKeys({ tenantId, input }: Asked<'scanHostKeys'>) {
    return this.hostKeys.scan(tenantId, input.name);
  }

  @RpcHandler(gitKeysRpc.approveHostKeys)
  async approveHostKeys({ tenantId, input }: Asked<'approveHostKeys'>) {
    return this.hostKeys.approve(tenantId, input);
  }

  @RpcHandler(gitKeysRpc.openRepository)
  async openRepository({ tenantId, input }: Asked<'openRepository'>) {
    return this.repositories.open(tenantId, input);
  }

  @RpcHandler(gitKeysRpc.wantDeployKey)
  async wantDeployKey({ tenantId, input }: Asked<'wantDeployKey'>) {
    return this.deployKeys.want(tenantId, input);
  }

  @RpcHandler(gitKeysRpc.dropDeployKey)
  async dropDeployKey({ tenantId, input }: Asked<'dropDeployKey'>) {
    return this.deployKeys.drop(tenantId, input);
  }

  @RpcHandler(gitKeysRpc.listDeployKeys)
  async listDeployKeys({ tenantId, input }: Asked<'listDeployKeys'>) {
    return this.deployKeys.list(tenantId, input);
  }
}
