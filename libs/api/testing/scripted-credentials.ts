import { registrationRpc, type BootstrapToken } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { checkCsr, issueIdentity } from '@fairlead/pki';
import { Controller } from '@nestjs/common';
import { pageByPlace, placeSince } from './page-by-place.js';
import { Script } from './script.js';

type R = typeof registrationRpc;

/** Registration, as far as it is about what administrators hand out. */
@Controller()
export class CredentialsScript {
  constructor(private readonly script: Script) {}

  @RpcHandler(registrationRpc.listBootstrapTokens)
  async listTokens({ input }: RpcRequest<R['listBootstrapTokens']>): RpcResult<R['listBootstrapTokens']> {
    const all = [...this.script.tokens.values()].filter(({ cluster }) => cluster === input.name);
    const place = ({ createdAt, id }: BootstrapToken): string => placeSince(createdAt, id);
    const { items: tokens, ...next } = pageByPlace(this.script, all, input.after, place);
    return { tokens, ...next };
  }

  @RpcHandler(registrationRpc.revokeBootstrapToken)
  async revokeToken({ input }: RpcRequest<R['revokeBootstrapToken']>): RpcResult<R['revokeBootstrapToken']> {
    const known = this.script.tokens.get(input.id);
    if (known?.cluster !== input.name) throw new FairleadError('NOT_FOUND', 'there is no such bootstrap token');
    const revoked: BootstrapToken = { ...known, state: 'revoked', revokedAt: new Date().toISOString() };
    this.script.tokens.set(input.id, revoked);
    this.script.revokers.push(input.by);
    return revoked;
  }

  @RpcHandler(registrationRpc.issueIdentity)
  async issueIdentity({ input }: RpcRequest<R['issueIdentity']>): RpcResult<R['issueIdentity']> {
    const cluster = this.script.clusters.get(input.name);
    if (!cluster) throw new FairleadError('NOT_FOUND', `there is no cluster ${input.name}`);
    const { trustDomain, issuing, root, roots } = this.script.authority;
    const notAfter = new Date(Date.now() + this.script.certificateMs);
    const generation = cluster.generation + 1;
    this.script.clusters.set(input.name, { ...cluster, generation });
    const id = { kind: 'agent', trustDomain, clusterId: cluster.id } as const;
    const csr = await checkCsr(Buffer.from(input.csr, 'base64'));
    const leaf = await issueIdentity(issuing, { csr, id, generation, notBefore: new Date(), notAfter });
    return {
      cluster: input.name,
      clusterId: cluster.id,
      generation,
      trustDomain,
      endpoints: ['gateway.test:7444'],
      chain: [leaf.certificatePem, issuing.certificatePem, root.certificatePem],
      roots: [...roots],
      notAfter: notAfter.toISOString(),
      manifest: `# for ${input.name}\n---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: fairlead-system\n`,
    };
  }
}
