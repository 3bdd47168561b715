import { withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';

/** Keeps repositories, bundles and assignments of a tenant, which name each other, from changing until the transaction ends. */
export function lockCatalog(manager: EntityManager, tenantId: string): Promise<void> {
  return withAdvisoryLock(manager, `catalog:${tenantId}`);
}
