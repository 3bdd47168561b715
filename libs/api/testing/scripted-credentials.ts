import { registrationRpc, type BootstrapToken } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { Script } from './script.js';

type R = typeof registrationRpc;

/** Registration, as far as it is about what administrators hand out. */
@Controller()
export class CredentialsScript {
  constructor(private readonly script: Script) {}

  @RpcHandler(registrationRpc.listBootstrapTokens)
  async listTokens({ input }: RpcRequest<R['listBootstrapTokens']>): RpcResult<R['listBootstrapTokens']> {
    const all = [...this.script.tokens.values()];
    return { tokens: all.filter(({ cluster }) => cluster === input.name) };
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
}
