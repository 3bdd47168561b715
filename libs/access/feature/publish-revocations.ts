import { writeStatementRevocations } from '@fairlead/access-statement';
import { messageOf } from '@fairlead/errors';
import { read } from '@fairlead/events';
import { RunLoop } from '@fairlead/loop';
import { inTransaction } from '@fairlead/persistence';
import { revocationList } from '../domain/revocation-list.js';
import { listLockdowns } from '../store/lockdown-store.js';
import {
  keepDocument,
  lockList,
  markTold,
  raiseFloor,
  skipBeyond,
  takeRevoked,
  untoldTenants,
} from '../store/revocation-store.js';
import type { KeysPort } from './keys-port.js';
import type { KnownClusters } from './known-clusters.js';
import { RequiredStatements } from './required-statements.js';
import type { Runtime } from './runtime.js';

/** Agents are to know of it about as soon as doors do. */
const PERIOD_MS = 1_000;
const RETRY = { baseMs: 500, capMs: 15_000, leastMs: 500 };

interface Made {
  readonly number: number;
  readonly document: Uint8Array;
}

/**
 * Has each tenant's list of revoked statements signed whenever it has changed: `keys` shows it to gateways, and they tell agents. Nothing waits for it: what it says
 * is in force at doors already. Created running; dispose of it to stop.
 */
export function publishRevocations(
  runtime: Runtime,
  keys: KeysPort,
  clusters: Pick<KnownClusters, 'byTenant' | 'changes'>,
): RunLoop {
  const required = new RequiredStatements(runtime.database, clusters);
  return new RunLoop({
    intervalMs: PERIOD_MS,
    retry: RETRY,
    onFailed: (error, { before }) =>
      runtime.logger.log(before === 0 ? 'warn' : 'debug', 'statement.revocations_delayed', {
        reason: messageOf(error),
      }),
    work: async () => {
      await required.follow();
      await publishEach(runtime, keys, await read(runtime, untoldTenants));
    },
  });
}

/** One that cannot be made is no reason for others to wait. Throws what failed first. */
async function publishEach(runtime: Runtime, keys: KeysPort, tenants: readonly string[]): Promise<void> {
  const failures: unknown[] = [];
  for (const tenantId of tenants) {
    await publish(runtime, keys, tenantId).catch((error: unknown) => {
      runtime.logger.debug('statement.revocations_not_made', { tenantId, reason: messageOf(error) });
      failures.push(error);
    });
  }
  if (failures.length > 0) throw failures[0];
}

async function publish(runtime: Runtime, keys: KeysPort, tenantId: string): Promise<void> {
  const made = await make(runtime, tenantId);
  if (!made) return;
  const { number: held, taken } = await keys.putStatementRevocations(tenantId, made.document);
  if (taken) await inTransaction(runtime.database, (manager) => markTold(manager, tenantId, made.number));
  else await catchUp(runtime, { tenantId, made: made.number, held });
}

/** Once of each number: whichever instance sends it, and however often, `keys` sees the same. */
function make({ database, now, logger }: Runtime, tenantId: string): Promise<Made | undefined> {
  return inTransaction(database, async (manager) => {
    const state = await lockList(manager, tenantId);
    if (!state) return undefined;
    const { number, document: before } = state;
    if (before) return { number, document: before };
    const revoked = await takeRevoked(manager, tenantId, now());
    const lockdowns = (await listLockdowns(manager, tenantId)).toSorted((a, b) => b.at.getTime() - a.at.getTime());
    const locked = lockdowns.map(({ clusterId }) => clusterId);
    const { list, raisedTo } = revocationList({ ...state, revoked, locked, now: now() });
    if (raisedTo) {
      logger.warn('statement.floor_raised', { tenantId, floor: raisedTo.toISOString(), revoked: revoked.length });
      await raiseFloor(manager, tenantId, raisedTo);
    }
    const document = writeStatementRevocations(list);
    await keepDocument(manager, { tenantId, number, document });
    return { number, document };
  });
}

interface Refused {
  readonly tenantId: string;
  /** The number that was sent, and the one of the other list that `keys` has. */
  readonly made: number;
  readonly held: number;
}

/**
 * Agents have heard more than this database knows: it was restored to an earlier time. What was revoked since then is not known, so that nobody's statement of before
 * counts any more.
 */
async function catchUp({ database, now, logger }: Runtime, { tenantId, made, held }: Refused): Promise<void> {
  const isBehind = await inTransaction(database, async (manager) => {
    const state = await lockList(manager, tenantId);
    // It has changed since: another instance may have sent what `keys` has, and the next round tells.
    if (state?.number !== made) return false;
    await skipBeyond(manager, tenantId, held);
    await raiseFloor(manager, tenantId, now());
    return true;
  });
  if (isBehind) logger.error('statement.revocations_behind', { tenantId, held });
}
