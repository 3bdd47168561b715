import { writeAccessRevocations } from '@fairlead/access-statement';
import { messageOf } from '@fairlead/errors';
import type { ClusterEntry } from '@fairlead/contracts';
import { RunLoop } from '@fairlead/loop';
import { inTransaction } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';
import { requiredClusters, revocationList } from '../domain/revocation-list.js';
import { listLockdowns } from '../store/lockdown-store.js';
import {
  lockList,
  markTold,
  raiseFloor,
  requiredOf,
  setRequired,
  skipTo,
  takeRevoked,
  untoldTenants,
} from '../store/revocation-store.js';
import type { KeysPort } from './keys-port.js';
import type { KnownClusters } from './known-clusters.js';
import type { Runtime } from './runtime.js';

/** Agents are to know of it about as soon as doors do. */
const PERIOD_MS = 500;
const RETRY = { baseMs: 500, capMs: 15_000, leastMs: 500 };

interface Made {
  readonly number: number;
  readonly document: Uint8Array;
}

/**
 * Has each tenant's list of revoked statements signed whenever it has changed: `keys` shows it to gateways, and they tell agents. Nothing waits for it: what it says
 * is in force at doors already. Created running; dispose of it to stop.
 */
export function tellRevocations(runtime: Runtime, keys: KeysPort, clusters: Pick<KnownClusters, 'byTenant'>): RunLoop {
  const required = new RequiredStatements(runtime, clusters);
  return new RunLoop({
    intervalMs: PERIOD_MS,
    retry: RETRY,
    onFailed: (error, { before }) =>
      runtime.logger.log(before === 0 ? 'warn' : 'debug', 'statement.revocations_delayed', {
        reason: messageOf(error),
      }),
    turn: async () => {
      await required.follow();
      for (const tenantId of await inTransaction(runtime.database, untoldTenants)) await tell(runtime, keys, tenantId);
    },
  });
}

/** Puts into the list which clusters are to take nobody without a statement, as registration tells of them. */
class RequiredStatements {
  readonly #runtime: Runtime;
  readonly #clusters: Pick<KnownClusters, 'byTenant'>;
  /** As it was written last, by tenant. */
  readonly #written = new Map<string, string>();

  constructor(runtime: Runtime, clusters: Pick<KnownClusters, 'byTenant'>) {
    this.#runtime = runtime;
    this.#clusters = clusters;
  }

  async follow(): Promise<void> {
    for (const [tenantId, clusters] of this.#clusters.byTenant() ?? []) {
      const known = JSON.stringify(requiredClusters(clusters));
      if (this.#written.get(tenantId) === known) continue;
      await inTransaction(this.#runtime.database, (manager) => this.#write(manager, tenantId, clusters));
      this.#written.set(tenantId, known);
    }
  }

  /** A cluster that is not there at the moment keeps what was said of it: NATS may have lost it. */
  async #write(manager: EntityManager, tenantId: string, clusters: readonly ClusterEntry[]): Promise<void> {
    const before = await requiredOf(manager, tenantId);
    const there = new Set(clusters.map(({ clusterId }) => clusterId));
    const missing = before.filter((clusterId) => !there.has(clusterId) && clusterId !== 'all');
    const kept = missing.map((clusterId) => ({ clusterId, requireStatements: true }));
    const required = requiredClusters([...clusters, ...kept]);
    if (before.length > 0 || required.length > 0) await setRequired(manager, tenantId, required);
  }
}

async function tell(runtime: Runtime, keys: KeysPort, tenantId: string): Promise<void> {
  const made = await make(runtime, tenantId);
  if (!made) return;
  const held = await keys.putAccessRevocations(tenantId, made.document);
  if (held === made.number) await inTransaction(runtime.database, (manager) => markTold(manager, tenantId, held));
  else await catchUp(runtime, tenantId, held);
}

function make({ database, now, logger }: Runtime, tenantId: string): Promise<Made | undefined> {
  return inTransaction(database, async (manager) => {
    const state = await lockList(manager, tenantId);
    if (!state) return undefined;
    const revoked = await takeRevoked(manager, tenantId, now());
    const lockdowns = (await listLockdowns(manager, tenantId)).toSorted((a, b) => b.at.getTime() - a.at.getTime());
    const locked = lockdowns.map(({ clusterId }) => clusterId);
    const { list, raisedTo } = revocationList({ ...state, revoked, locked, now: now() });
    if (raisedTo) {
      logger.warn('statement.floor_raised', { tenantId, floor: raisedTo.toISOString(), revoked: revoked.length });
      await raiseFloor(manager, tenantId, raisedTo);
    }
    return { number: list.number, document: writeAccessRevocations(list) };
  });
}

/**
 * Agents have heard more than this database knows: it was restored to an earlier time. What was revoked since then is not known, so that nobody's statement of before
 * counts any more.
 */
async function catchUp({ database, now, logger }: Runtime, tenantId: string, held: number): Promise<void> {
  const isBehind = await inTransaction(database, async (manager) => {
    const state = await lockList(manager, tenantId);
    // Another replica of this service was quicker.
    if (!state || state.number > held) return false;
    await skipTo(manager, tenantId, held);
    await raiseFloor(manager, tenantId, now());
    return true;
  });
  if (isBehind) logger.error('statement.revocations_behind', { tenantId, held });
}
