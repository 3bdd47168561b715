import { accessRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { ForgetTenant } from './forget-tenant.js';

/** The part of the contract about tenants that are no more. */
@Controller()
export class TenantsController {
  constructor(private readonly tenants: ForgetTenant) {}

  @RpcHandler(accessRpc.forgetTenant)
  async forgetTenant({ tenantId }: RpcRequest<(typeof accessRpc)['forgetTenant']>) {
    await this.tenants.forget(tenantId);
    return {};
  }
}
