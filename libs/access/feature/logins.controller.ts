import { accessRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { Issuers } from './issuers.js';
import { Logins } from './logins.js';
import { StandingLogins } from './standing-logins.js';

/** The part of the contract that is about issuers and logins. */
@Controller()
export class LoginsController {
  constructor(
    private readonly issuers: Issuers,
    private readonly logins: Logins,
    private readonly standing: StandingLogins,
  ) {}

  @RpcHandler(accessRpc.listIssuers)
  async listIssuers({ tenantId }: RpcRequest<typeof accessRpc.listIssuers>) {
    return { issuers: await this.issuers.list(tenantId) };
  }

  @RpcHandler(accessRpc.getIssuer)
  async getIssuer({ tenantId, input }: RpcRequest<typeof accessRpc.getIssuer>) {
    return this.issuers.get(tenantId, input.name);
  }

  @RpcHandler(accessRpc.putIssuer)
  async putIssuer({ caller, tenantId, input: { by, ifRevision, ...issuer } }: RpcRequest<typeof accessRpc.putIssuer>) {
    return this.issuers.put(caller, tenantId, { by, ifRevision }, issuer);
  }

  @RpcHandler(accessRpc.removeIssuer)
  async removeIssuer({ caller, tenantId, input: { name, ...asked } }: RpcRequest<typeof accessRpc.removeIssuer>) {
    await this.issuers.remove(caller, tenantId, asked, name);
    return {};
  }

  @RpcHandler(accessRpc.listLoginOptions)
  async listLoginOptions({ tenantId }: RpcRequest<typeof accessRpc.listLoginOptions>) {
    return { issuers: await this.issuers.loginOptions(tenantId) };
  }

  @RpcHandler(accessRpc.exchangeToken)
  async exchangeToken({ caller, input }: RpcRequest<typeof accessRpc.exchangeToken>) {
    return this.logins.exchange(caller, input);
  }

  @RpcHandler(accessRpc.endLogin)
  async endLogin({ caller, input }: RpcRequest<typeof accessRpc.endLogin>) {
    await this.standing.end(caller, input);
    return {};
  }

  @RpcHandler(accessRpc.listUsers)
  async listUsers({ tenantId, input: { after } }: RpcRequest<typeof accessRpc.listUsers>) {
    return this.standing.users(tenantId, after);
  }
}
