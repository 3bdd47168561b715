import { auditRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { AuditLog } from './audit-log.js';

type Asked<Method extends keyof typeof auditRpc> = RpcRequest<(typeof auditRpc)[Method]>;

@Controller()
export class AuditController {
  constructor(private readonly log: AuditLog) {}

  @RpcHandler(auditRpc.search)
  async search({ tenantId, input: { after, limit, ...filter } }: Asked<'search'>) {
    return this.log.search(tenantId, { filter, limit }, after);
  }

  @RpcHandler(auditRpc.read)
  async read({ tenantId, input: { after, limit, ...filter } }: Asked<'read'>) {
    return this.log.read(tenantId, { filter, limit }, after);
  }

  @RpcHandler(auditRpc.get)
  async get({ tenantId, input }: Asked<'get'>) {
    return this.log.get(tenantId, input.number);
  }

  @RpcHandler(auditRpc.producers)
  async producers() {
    return { producers: await this.log.producers() };
  }
}
