import { FairleadError } from '@fairlead/errors';
import { networkOf } from '@fairlead/limits';
import { withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';
import { QUEUE, whyFull } from '../domain/adoption-queue.js';
import { countPending, dropDecided } from '../store/enrolment-request-store.js';

interface Asking {
  readonly tenantId: string;
  readonly tokenId: string | null;
  readonly remoteAddress: string;
}

/**
 * Keeps a place in the queue for the caller's transaction; nobody else is let in before that ends. RATE_LIMITED if it is full,
 * which costs nobody a turn.
 */
export async function takeRoom(manager: EntityManager, asking: Asking): Promise<void> {
  await requireRoom(manager, asking);
  // Many may have seen the last place.
  await withAdvisoryLock(manager, `enrolment-queue:${asking.tenantId}`);
  await requireRoom(manager, asking);
  await dropDecided(manager, asking.tenantId, QUEUE.decidedPerTenant);
}

async function requireRoom(manager: EntityManager, { tenantId, tokenId, remoteAddress }: Asking): Promise<void> {
  const invited = tokenId !== null;
  const full = whyFull(await countPending(manager, tenantId, networkOf(remoteAddress), invited), invited);
  if (full !== null) throw new FairleadError('RATE_LIMITED', full);
}
