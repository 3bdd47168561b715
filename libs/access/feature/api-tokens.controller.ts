import { accessRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { ApiTokens } from './api-tokens.js';

type Asked<Method extends keyof typeof accessRpc> = RpcRequest<(typeof accessRpc)[Method]>;

/** The part of the contract that is about API tokens. */
@Controller()
export class ApiTokensController {
  constructor(private readonly tokens: ApiTokens) {}

  @RpcHandler(accessRpc.createToken)
  async createToken({ caller, tenantId, input }: Asked<'createToken'>) {
    return this.tokens.create(caller, tenantId, input);
  }

  @RpcHandler(accessRpc.listTokens)
  async listTokens({ tenantId, input }: Asked<'listTokens'>) {
    return this.tokens.list(tenantId, input.after);
  }

  @RpcHandler(accessRpc.revokeToken)
  async revokeToken({ caller, tenantId, input }: Asked<'revokeToken'>) {
    return this.tokens.revoke(caller, tenantId, input.id, input.by);
  }
}
