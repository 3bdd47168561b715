import type { ApprovalPolicy } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { EntityManager } from 'typeorm';
import { ClusterRow, TenantRow } from './entities.js';

/** Null: none was chosen. NOT_FOUND if there is no such tenant. */
export async function tenantPolicy(manager: EntityManager, tenantId: string): Promise<ApprovalPolicy | null> {
  const tenant = await manager.findOneBy(TenantRow, { id: tenantId });
  if (!tenant) throw new FairleadError('NOT_FOUND', `there is no tenant ${tenantId}`);
  return tenant.approvalPolicy;
}

export async function setTenantPolicy(
  manager: EntityManager,
  id: string,
  approvalPolicy: ApprovalPolicy | null,
): Promise<void> {
  await manager.update(TenantRow, { id }, { approvalPolicy });
}

export async function setClusterPolicy(
  manager: EntityManager,
  id: string,
  approvalPolicy: ApprovalPolicy | null,
): Promise<void> {
  await manager.update(ClusterRow, { id }, { approvalPolicy });
}
