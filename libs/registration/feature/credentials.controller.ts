import { registrationRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { BootstrapTokens } from './bootstrap-tokens.js';
import { StaticIdentities } from './static-identities.js';

type Asked<Method extends keyof typeof registrationRpc> = RpcRequest<(typeof registrationRpc)[Method]>;

/** The part of registration's contract that is about what administrators hand out to agents. */
@Controller()
export class CredentialsController {
  constructor(
    private readonly tokens: BootstrapTokens,
    private readonly identities: StaticIdentities,
  ) {}

  @RpcHandler(registrationRpc.listBootstrapTokens)
  async listTokens({ tenantId, input }: Asked<'listBootstrapTokens'>) {
    return { tokens: await this.tokens.list(tenantId, input.name) };
  }

  @RpcHandler(registrationRpc.revokeBootstrapToken)
  async revokeToken({ caller, tenantId, input }: Asked<'revokeBootstrapToken'>) {
    return this.tokens.revoke(caller, tenantId, input);
  }

  @RpcHandler(registrationRpc.issueIdentity)
  async issueIdentity({ caller, tenantId, input }: Asked<'issueIdentity'>) {
    return this.identities.issue(caller, tenantId, input);
  }
}
