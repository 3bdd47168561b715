import { registrationRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { BootstrapTokens } from './bootstrap-tokens.js';
import { StaticIdentities } from './static-identities.js';

type Rpcs = typeof registrationRpc;

/** The part of registration's contract that is about what administrators hand out to agents. */
@Controller()
export class CredentialsController {
  readonly #tokens: BootstrapTokens;
  readonly #identities: StaticIdentities;

  constructor(tokens: BootstrapTokens, identities: StaticIdentities) {
    this.#tokens = tokens;
    this.#identities = identities;
  }

  @RpcHandler(registrationRpc.listBootstrapTokens)
  async listTokens({
    tenantId,
    input,
  }: RpcRequest<Rpcs['listBootstrapTokens']>): RpcResult<Rpcs['listBootstrapTokens']> {
    return { tokens: await this.#tokens.list(tenantId, input.name) };
  }

  @RpcHandler(registrationRpc.revokeBootstrapToken)
  async revokeToken({
    caller,
    tenantId,
    input,
  }: RpcRequest<Rpcs['revokeBootstrapToken']>): RpcResult<Rpcs['revokeBootstrapToken']> {
    return this.#tokens.revoke(caller, tenantId, input);
  }

  @RpcHandler(registrationRpc.issueIdentity)
  async issueIdentity({
    caller,
    tenantId,
    input,
  }: RpcRequest<Rpcs['issueIdentity']>): RpcResult<Rpcs['issueIdentity']> {
    return this.#identities.issue(caller, tenantId, input);
  }
}
