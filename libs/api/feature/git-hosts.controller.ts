import {
  gitKeysRpc,
  registrationRpc,
  type GitHost,
  type HostPublicKey,
  type Principal,
  type PutGitHost,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { Controller } from '@nestjs/common';
import type { z } from 'zod';
import { gitHostOperations, type DeployKeyList, type GitHostList } from '../contract/git-host-operations.js';
import { CurrentPrincipal, JsonBody, Params, Query, Serve } from '../http/serve.js';
import { Backend } from './backend.js';

interface ByName {
  readonly name: string;
}

interface Approval {
  readonly fingerprints: string[];
  readonly keys: z.infer<typeof HostPublicKey>[];
}

/** Git hosts and the keys on both sides of them. */
@Controller()
export class GitHostsController {
  constructor(private readonly backend: Backend) {}

  @Serve(gitHostOperations.listGitHosts)
  list(@CurrentPrincipal() { tenantId }: Principal): Promise<GitHostList> {
    return this.backend.read(gitKeysRpc.listGitHosts, tenantId, {});
  }

  @Serve(gitHostOperations.getGitHost)
  async get(
    @CurrentPrincipal() { tenantId }: Principal,
    @Params(gitHostOperations.getGitHost) { name }: ByName,
  ): Promise<GitHost> {
    const { hosts } = await this.backend.read(gitKeysRpc.listGitHosts, tenantId, {});
    const host = hosts.find((each) => each.name === name);
    if (!host) throw new FairleadError('NOT_FOUND', `there is no Git host ${name}`);
    return host;
  }

  @Serve(gitHostOperations.putGitHost)
  put(
    @CurrentPrincipal() { tenantId, user: actor }: Principal,
    @Params(gitHostOperations.putGitHost) { name }: ByName,
    @JsonBody(gitHostOperations.putGitHost) body: Omit<PutGitHost, 'name'>,
  ): Promise<GitHost> {
    return this.backend.write(gitKeysRpc.putGitHost, tenantId, { ...body, name, actor });
  }

  @Serve(gitHostOperations.deleteGitHost)
  async delete(
    @CurrentPrincipal() { tenantId, user: actor }: Principal,
    @Params(gitHostOperations.deleteGitHost) { name }: ByName,
  ): Promise<void> {
    await this.backend.write(gitKeysRpc.deleteGitHost, tenantId, { name, actor });
  }

  @Serve(gitHostOperations.scanHostKeys)
  scan(
    @CurrentPrincipal() { tenantId }: Principal,
    @Params(gitHostOperations.scanHostKeys) { name }: ByName,
  ): Promise<GitHost> {
    return this.backend.write(gitKeysRpc.scanHostKeys, tenantId, { name });
  }

  @Serve(gitHostOperations.approveHostKeys)
  approve(
    @CurrentPrincipal() { tenantId, user: actor }: Principal,
    @Params(gitHostOperations.approveHostKeys) { name }: ByName,
    @JsonBody(gitHostOperations.approveHostKeys) approval: Approval,
  ): Promise<GitHost> {
    return this.backend.write(gitKeysRpc.approveHostKeys, tenantId, { ...approval, name, actor });
  }

  @Serve(gitHostOperations.listDeployKeys)
  async deployKeys(
    @CurrentPrincipal() { tenantId }: Principal,
    @Params(gitHostOperations.listDeployKeys) { name }: ByName,
    @Query(gitHostOperations.listDeployKeys) page: { readonly after?: string },
  ): Promise<DeployKeyList> {
    const { id: clusterId } = await this.backend.read(registrationRpc.getCluster, tenantId, { name });
    return this.backend.read(gitKeysRpc.listDeployKeys, tenantId, { clusterId, ...page });
  }
}
