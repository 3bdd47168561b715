import { auditLogRpc, keysRpc, type SignedAuditTree } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { Controller } from '@nestjs/common';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';

/** What the audit log is verified by. */
@Controller()
export class AuditLogController {
  constructor(private readonly backend: Backend) {}

  /** Asked of `keys`, which signed it: where the audit service has lost records since, they are missing, and not unheard of. */
  @Serve('getAuditLog')
  async head(@Asked() { tenantId }: Call<'getAuditLog'>) {
    const { tree } = await this.backend.read(keysRpc.auditLog, tenantId, {});
    if (!tree) throw new FairleadError('NOT_FOUND', 'nothing of the audit log was signed yet');
    return shown(tree);
  }

  @Serve('getAuditTile')
  tile(@Asked() { tenantId, query }: Call<'getAuditTile'>) {
    return this.backend.read(auditLogRpc.tile, tenantId, query);
  }

  @Serve('listAuditEvidence')
  evidence(@Asked() { tenantId, query }: Call<'listAuditEvidence'>) {
    return this.backend.read(auditLogRpc.evidence, tenantId, query);
  }

  @Serve('listAuditWitnesses')
  witnesses(@Asked() { tenantId }: Call<'listAuditWitnesses'>) {
    return this.backend.read(auditLogRpc.witnesses, tenantId, {});
  }

  @Serve('beginAuditLogAnew')
  async beginAnew(@Asked() { actor: by, params: { name }, body: { force } }: Call<'beginAuditLogAnew'>) {
    const { tree, previous } = await this.backend.write(auditLogRpc.beginAnew, name, { by, force });
    return { ...shown(tree), previous };
  }
}

function shown({ origin, verifierKey, incarnation, size, note: checkpoint }: SignedAuditTree) {
  return { origin, verifierKey, incarnation, size, checkpoint };
}
