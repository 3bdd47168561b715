import { NO_TENANT, type Caller } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { appendEvent, createEvent } from '@fairlead/events';
import type { Logger } from '@fairlead/observability';
import { inTransaction, readFrom } from '@fairlead/persistence';
import type { DataSource } from 'typeorm';
import { authoritiesStamp } from '../store/authority-store.js';
import type { MasterKey } from '../store/master-key.js';
import {
  SEALED_PLACES,
  countSealed,
  replaceSealed,
  sealedByOthers,
  type SealedCount,
  type SealedPlace,
  type SealedRow,
} from '../store/sealed-store.js';
import type { Sealer } from '../store/sealer.js';

const BATCH_ROWS = 100;
/** Each pass sees what was written during the one before; a process that still seals with another key never lets it end. */
const MAX_PASSES = 10;

export interface RewrapOptions {
  readonly database: DataSource;
  readonly masterKey: MasterKey;
  readonly logger: Logger;
  /** This process, as the source of events. */
  readonly source: Caller;
  readonly signal: AbortSignal;
}

/** How far the way to the master key is that seals now. */
export interface SealedStatus {
  readonly keyName: string;
  readonly sealed: readonly SealedCount[];
  /** Sealed by any other key. */
  readonly left: number;
}

/** Asks the master key's place for its name, so it throws what that throws. */
export async function sealedStatus({ database, masterKey }: RewrapOptions): Promise<SealedStatus> {
  const sealer = await openSealer(database, masterKey);
  return statusBy(database, await sealer.current());
}

/**
 * Seals everything anew, with the master key that seals now, while processes serve: each secret gets another data key. Every row is a
 * transaction of its own and is replaced only if it still is what was read, so any number of these may run at once, and one that is killed
 * is run again. Resolves with how many rows this run replaced. INVALID_ARGUMENT if something was sealed by a key that is not in the
 * settings; UNAVAILABLE; CONFLICT while a process goes on sealing with another key.
 */
export async function rewrapMasterKey(options: RewrapOptions): Promise<{ keyName: string; rows: number }> {
  const { database, masterKey, logger, source } = options;
  const sealer = await openSealer(database, masterKey);
  let rows = 0;
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const keyName = await sealer.current();
    for (const place of SEALED_PLACES) rows += await rewrapPlace(options, sealer, keyName, place);
    const { left } = await statusBy(database, keyName);
    logger.info('master_key.rewrap_pass', { keyName, rows, left });
    if (left > 0) continue;
    await inTransaction(database, (manager) => {
      const actor = { kind: 'service', id: source.credential } as const;
      const about = { tenantId: NO_TENANT, subject: 'master-key', actor, reason: 'OK' };
      return appendEvent(
        manager,
        createEvent(source, 'dev.fairlead.master-key.rewrapped.v1', { ...about, keyName, rows }),
      );
    });
    return { keyName, rows };
  }
  throw new FairleadError(
    'CONFLICT',
    'rows are still being sealed with another master key: a process of `keys` has older settings. Give all of them the same ones, then run this again',
  );
}

async function rewrapPlace(
  { database, signal }: RewrapOptions,
  sealer: Sealer,
  keyName: string,
  place: SealedPlace,
): Promise<number> {
  let replaced = 0;
  let after: string | null = null;
  for (;;) {
    const batch = await readBatch(database, place, keyName, after);
    for (const row of batch) {
      signal.throwIfAborted();
      // Outside of a transaction: nobody waits for a KMS with a lock held.
      const sealed = await sealer.seal(await sealer.unseal(row.sealed, row.context), row.context);
      if (await inTransaction(database, (manager) => replaceSealed(manager, row, sealed))) replaced += 1;
    }
    after = batch.at(-1)?.key ?? null;
    if (batch.length < BATCH_ROWS || after === null) return replaced;
  }
}

function readBatch(
  database: DataSource,
  place: SealedPlace,
  keyName: string,
  after: string | null,
): Promise<SealedRow[]> {
  return readFrom(database, (manager) => sealedByOthers(manager, place, keyName, { after, limit: BATCH_ROWS }));
}

async function openSealer(database: DataSource, masterKey: MasterKey): Promise<Sealer> {
  const stamp = await readFrom(database, authoritiesStamp);
  if (stamp === '') throw new FairleadError('CONFLICT', 'there is no CA yet, so nothing is sealed: start `keys` first');
  return masterKey.open(false);
}

async function statusBy(database: DataSource, keyName: string): Promise<SealedStatus> {
  const sealed = await readFrom(database, countSealed);
  const left = sealed.reduce((sum, one) => (one.keyName === keyName ? sum : sum + one.rows), 0);
  return { keyName, sealed, left };
}
