import { auditRpc } from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';

/** A tenant's audit log, for its administrators and auditors. */
@Controller()
export class AuditController {
  constructor(private readonly backend: Backend) {}

  @Serve('searchAudit')
  search(@Asked() { tenantId, query }: Call<'searchAudit'>) {
    return this.backend.read(auditRpc.search, tenantId, query);
  }

  @Serve('feedAudit')
  feed(@Asked() { tenantId, query }: Call<'feedAudit'>) {
    return this.backend.read(auditRpc.read, tenantId, query);
  }

  @Serve('getAuditEntry')
  get(@Asked() { tenantId, params }: Call<'getAuditEntry'>) {
    return this.backend.read(auditRpc.get, tenantId, params);
  }

  @Serve('listAuditProducers')
  producers(@Asked() { tenantId }: Call<'listAuditProducers'>) {
    return this.backend.read(auditRpc.producers, tenantId, {});
  }
}
