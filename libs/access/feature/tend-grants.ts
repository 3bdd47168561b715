import { BUCKETS } from '@fairlead/contracts';
import { messageOf } from '@fairlead/errors';
import { actorOf, markChanged, tell, type ServiceRuntime } from '@fairlead/events';
import { RunLoop } from '@fairlead/loop';
import { inTransaction } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';
import { PENDING_MS } from '../domain/access-request.js';
import { keyOf } from '../domain/grant.js';
import { dropEndedRequests, lapseRequestsOf, takeUndecided } from '../store/access-request-store.js';
import { dropEndedGrants, endGrants, takeLapsedGrants } from '../store/grant-store.js';
import { aboutRequest } from './access-requests.js';
import { aboutGrant } from './add-grant.js';
import type { Lockdowns } from './lockdowns.js';

const PERIOD_MS = 5_000;
const RETRY = { baseMs: 500, capMs: 30_000, leastMs: 500 };
const BATCH = 200;
const DROP_BATCH = 1_000;
/** How long it can still be asked who could do what. */
const KEEP_MS = 90 * 86_400_000;

/**
 * Ends grants and requests whose time is over, follows clusters that are locked down by name, and forgets what ended 90 days ago. Doors go by the
 * clock: nobody is let in because this is late. Created running; dispose of it to stop.
 */
export function tendGrants(runtime: ServiceRuntime, lockdowns: Lockdowns): RunLoop {
  return new RunLoop({
    intervalMs: PERIOD_MS,
    jitter: 0.2,
    retry: RETRY,
    onFailed: (error, { before }) =>
      runtime.logger.log(before === 0 ? 'warn' : 'debug', 'grants.tending_delayed', { reason: messageOf(error) }),
    work: async () => {
      await lockdowns.followNames();
      const more = [await lapseGrants(runtime), await lapseRequests(runtime), await forgetOld(runtime)];
      return more.includes(true) ? 0 : undefined;
    },
  });
}

/** True if there may be more. */
async function lapseGrants(runtime: ServiceRuntime): Promise<boolean> {
  const ended = await counted(runtime, async (manager) => {
    const now = runtime.now();
    const grants = await takeLapsedGrants(manager, now, BATCH);
    if (grants.length === 0) return 0;
    const ids = grants.map(({ id }) => id);
    await endGrants(manager, ids, now, null);
    await lapseRequestsOf(manager, ids);
    await markChanged(manager, BUCKETS.grants, grants.map(keyOf));
    const actor = actorOf(runtime.source);
    for (const grant of grants) await tell(runtime, manager, 'dev.fairlead.grant.lapsed.v1', aboutGrant(grant, actor));
    return grants.length;
  });
  return ended === BATCH;
}

async function lapseRequests(runtime: ServiceRuntime): Promise<boolean> {
  const lapsed = await counted(runtime, async (manager) => {
    const requests = await takeUndecided(manager, new Date(runtime.now().getTime() - PENDING_MS), BATCH);
    const actor = actorOf(runtime.source);
    for (const request of requests) {
      await tell(runtime, manager, 'dev.fairlead.access-request.lapsed.v1', aboutRequest(request, actor));
    }
    return requests.length;
  });
  return lapsed === BATCH;
}

async function forgetOld(runtime: ServiceRuntime): Promise<boolean> {
  const before = new Date(runtime.now().getTime() - KEEP_MS);
  const dropped = await counted(runtime, async (manager) => {
    const grants = await dropEndedGrants(manager, before, DROP_BATCH);
    await dropEndedRequests(manager, before);
    return grants;
  });
  return dropped === DROP_BATCH;
}

/** Changes some rows. Most rounds find none, and then nothing follows from it. */
async function counted(runtime: ServiceRuntime, work: (manager: EntityManager) => Promise<number>): Promise<number> {
  const changed = await inTransaction(runtime.database, work);
  if (changed > 0) runtime.onCommitted();
  return changed;
}
