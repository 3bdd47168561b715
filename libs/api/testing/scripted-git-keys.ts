import { createHash, randomUUID } from 'node:crypto';
import { gitKeysRpc, type DeployKey, type GitHost, type HostKey } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { Script } from './script.js';

type G = typeof gitKeysRpc;

/** A host key as ssh-keygen would tell of it. */
export function hostKey(key: string, state: HostKey['state'] = 'proposed'): HostKey {
  const [type = '', base64 = ''] = key.split(' ');
  const hash = createHash('sha256').update(Buffer.from(base64, 'base64')).digest('base64').replaceAll('=', '');
  const firstSeenAt = new Date().toISOString();
  return { type, fingerprint: `SHA256:${hash}`, key, state, firstSeenAt, lastSeenAt: firstSeenAt, decidedBy: null };
}

/** A cluster's key that somebody has to add by hand, unless said otherwise. */
export function deployKey(clusterId: string, rest: Partial<DeployKey> = {}): DeployKey {
  return {
    clusterId,
    repositoryId: randomUUID(),
    number: 1,
    fingerprint: `SHA256:${'A'.repeat(43)}`,
    state: 'by-hand',
    instructions: 'add the key to the repository',
    problem: null,
    seenAt: null,
    restored: 0,
    ...rest,
  };
}

/** The keys service, as far as it is about Git hosts. */
@Controller()
export class GitKeysScript {
  constructor(private readonly script: Script) {}

  @RpcHandler(gitKeysRpc.putGitHost)
  async put({ input }: RpcRequest<G['putGitHost']>): RpcResult<G['putGitHost']> {
    const { name, kind, url, sshPort, createRepositories, token, actor } = input;
    if (token?.includes('refused')) {
      throw new FairleadError('GIT_RIGHTS_MISSING', 'the token lacks write:repository');
    }
    const known = this.script.gitHosts.get(name);
    const host: GitHost = {
      id: known?.id ?? randomUUID(),
      name,
      kind,
      url,
      sshHost: input.sshHost ?? new URL(url ?? 'https://git.test').hostname,
      sshPort,
      createRepositories,
      hasToken: token !== undefined || (known?.hasToken ?? false),
      tokenExpiresAt: null,
      checkedAt: new Date().toISOString(),
      findings: [{ verdict: 'granted', right: 'write:repository', why: 'it says so' }],
      problem: null,
      revision: 'put',
      hostKeys: known?.hostKeys ?? [],
    };
    if (token !== undefined) this.script.gitTokens.push(token);
    this.script.actors.push(actor);
    this.script.gitHosts.set(name, host);
    return host;
  }

  @RpcHandler(gitKeysRpc.listGitHosts)
  async list(_request: RpcRequest<G['listGitHosts']>): RpcResult<G['listGitHosts']> {
    return { hosts: [...this.script.gitHosts.values()] };
  }

  @RpcHandler(gitKeysRpc.deleteGitHost)
  async delete({ input: { name, actor } }: RpcRequest<G['deleteGitHost']>): RpcResult<G['deleteGitHost']> {
    this.#known(name);
    if ([...this.script.repositories.values()].some(({ gitHost }) => gitHost === name)) {
      throw new FairleadError('CONFLICT', `a catalog repository is on ${name}`);
    }
    this.script.gitHosts.delete(name);
    this.script.actors.push(actor);
    return {};
  }

  @RpcHandler(gitKeysRpc.scanHostKeys)
  async scan({ input: { name } }: RpcRequest<G['scanHostKeys']>): RpcResult<G['scanHostKeys']> {
    const host = this.#known(name);
    const shown = this.script.shownHostKeys.map((key) => hostKey(key));
    const added = shown.filter(({ key }) => !host.hostKeys.some((each) => each.key === key));
    return this.#change({ ...host, hostKeys: [...host.hostKeys, ...added] });
  }

  @RpcHandler(gitKeysRpc.approveHostKeys)
  async approve({ input }: RpcRequest<G['approveHostKeys']>): RpcResult<G['approveHostKeys']> {
    const host = this.#known(input.name);
    const all = [...host.hostKeys, ...input.keys.map((key) => hostKey(key))];
    const unknown = input.fingerprints.filter((each) => !all.some(({ fingerprint }) => fingerprint === each));
    if (unknown.length > 0) throw new FairleadError('NOT_FOUND', `no such key was shown: ${unknown.join(', ')}`);
    this.script.actors.push(input.actor);
    const hostKeys = all.map((key): HostKey => {
      if (input.fingerprints.includes(key.fingerprint)) return { ...key, state: 'approved', decidedBy: input.actor };
      return key.state === 'approved' ? { ...key, state: 'withdrawn' } : key;
    });
    return this.#change({ ...host, hostKeys });
  }

  @RpcHandler(gitKeysRpc.listDeployKeys)
  async deployKeys({ input }: RpcRequest<G['listDeployKeys']>): RpcResult<G['listDeployKeys']> {
    return { keys: this.script.deployKeys.filter(({ clusterId }) => clusterId === input.clusterId) };
  }

  #known(name: string): GitHost {
    const host = this.script.gitHosts.get(name);
    if (!host) throw new FairleadError('NOT_FOUND', `there is no Git host ${name}`);
    return host;
  }

  #change(host: GitHost): GitHost {
    this.script.gitHosts.set(host.name, host);
    return host;
  }
}
