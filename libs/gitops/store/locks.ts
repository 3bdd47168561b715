import { withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';

/*
 * Whoever needs several of these takes them in this order, and rows after them: catalog, breaker, fleet. Otherwise two transactions
 * wait for each other, and Postgres ends one of them.
 */

/** Keeps repositories, bundles, assignments and rollouts of a tenant, which name each other, from changing until the transaction ends. */
export function lockCatalog(manager: EntityManager, tenantId: string): Promise<void> {
  return withAdvisoryLock(manager, `catalog:${tenantId}`);
}

/** For statements that change many clusters: each would lock their rows in an order of its own. */
export function lockFleet(manager: EntityManager): Promise<void> {
  return withAdvisoryLock(manager, 'fleet');
}
