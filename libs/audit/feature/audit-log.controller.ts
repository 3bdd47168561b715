import { auditLogRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { AuditTree } from './audit-tree.js';
import { AuditWitnesses } from './audit-witnesses.js';
import { BeginAnew } from './begin-anew.js';

type Asked<Method extends keyof typeof auditLogRpc> = RpcRequest<(typeof auditLogRpc)[Method]>;

/** What a log is verified by. */
@Controller()
export class AuditLogController {
  constructor(
    private readonly tree: AuditTree,
    private readonly auditWitnesses: AuditWitnesses,
    private readonly anew: BeginAnew,
  ) {}

  @RpcHandler(auditLogRpc.tile)
  async tile({ tenantId, input }: Asked<'tile'>) {
    const bytes = await this.tree.tile(tenantId, input.path);
    return { bytes: Buffer.from(bytes).toString('base64') };
  }

  @RpcHandler(auditLogRpc.evidence)
  async evidence({ tenantId, input }: Asked<'evidence'>) {
    return this.tree.evidence(tenantId, input.after);
  }

  @RpcHandler(auditLogRpc.witnesses)
  async witnesses({ tenantId }: Asked<'witnesses'>) {
    return this.auditWitnesses.list(tenantId);
  }

  @RpcHandler(auditLogRpc.beginAnew)
  async beginAnew({ tenantId, input }: Asked<'beginAnew'>) {
    return this.anew.begin(tenantId, input);
  }
}
