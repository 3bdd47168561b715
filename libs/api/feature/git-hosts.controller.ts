import { gitKeysRpc, registrationRpc } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { Controller } from '@nestjs/common';
import { IfRevision, type Expected } from '../http/revisions.js';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';

/** Git hosts and the keys on both sides of them. */
@Controller()
export class GitHostsController {
  constructor(private readonly backend: Backend) {}

  @Serve('listGitHosts')
  list(@Asked() { tenantId }: Call<'listGitHosts'>) {
    return this.backend.read(gitKeysRpc.listGitHosts, tenantId, {});
  }

  @Serve('getGitHost')
  async get(@Asked() { tenantId, params: { name } }: Call<'getGitHost'>) {
    const { hosts } = await this.backend.read(gitKeysRpc.listGitHosts, tenantId, {});
    const host = hosts.find((each) => each.name === name);
    if (!host) throw new FairleadError('NOT_FOUND', `there is no Git host ${name}`);
    return host;
  }

  @Serve('putGitHost')
  put(@Asked() { tenantId, actor, params, body }: Call<'putGitHost'>, @IfRevision() ifRevision: Expected) {
    return this.backend.write(gitKeysRpc.putGitHost, tenantId, { ...body, ...params, actor, ifRevision });
  }

  @Serve('deleteGitHost')
  async delete(@Asked() { tenantId, actor, params }: Call<'deleteGitHost'>, @IfRevision() ifRevision: Expected) {
    await this.backend.write(gitKeysRpc.deleteGitHost, tenantId, { ...params, actor, ifRevision });
  }

  @Serve('scanHostKeys')
  scan(@Asked() { tenantId, params }: Call<'scanHostKeys'>) {
    return this.backend.write(gitKeysRpc.scanHostKeys, tenantId, params);
  }

  @Serve('approveHostKeys')
  approve(@Asked() { tenantId, actor, params, body }: Call<'approveHostKeys'>) {
    return this.backend.write(gitKeysRpc.approveHostKeys, tenantId, { ...body, ...params, actor });
  }

  @Serve('listDeployKeys')
  async deployKeys(@Asked() { tenantId, params, query }: Call<'listDeployKeys'>) {
    const { id: clusterId } = await this.backend.read(registrationRpc.getCluster, tenantId, params);
    return this.backend.read(gitKeysRpc.listDeployKeys, tenantId, { clusterId, ...query });
  }
}
