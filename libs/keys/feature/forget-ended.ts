import { inTransaction } from '@fairlead/persistence';
import type { DataSource } from 'typeorm';
import { deleteEndedCertificates } from '../store/certificate-store.js';
import { deleteRemovedDeployKeys } from '../store/deploy-key-store.js';
import { deleteEndedWebhookSecrets } from '../store/webhook-secret-store.js';

/** Records are kept for this long after a certificate's end, to look into what happened; longer where it can still be renewed. */
const KEPT_MS = 90 * 86_400_000;
/** At once, so that no statement takes long. */
const BATCH = 1_000;
/** Of one call; the next one goes on. */
const MOST_BATCHES = 100;

/** What became of a deploy key is remembered so long after it was removed. */
const REMOVED_KEPT_MS = 30 * 86_400_000;

export interface ForgetOptions {
  readonly database: DataSource;
  /** How long after its end an agent's certificate can still be renewed. */
  readonly recoveryWindowSeconds: number;
  readonly now?: () => Date;
}

/**
 * Deletes what was recorded of certificates that ended long ago, and returns how many. Never of those that were revoked one by one, nor
 * the newest of a cluster's newest enrolment, by which older enrolments are fenced.
 */
export async function forgetEnded({ database, recoveryWindowSeconds, now }: ForgetOptions): Promise<number> {
  const nowMs = (now?.() ?? new Date()).getTime();
  const endedBefore = new Date(nowMs - Math.max(KEPT_MS, recoveryWindowSeconds * 1_000));
  let forgotten = 0;
  for (let batch = 0; batch < MOST_BATCHES; batch += 1) {
    const count = await inTransaction(database, (manager) => deleteEndedCertificates(manager, endedBefore, BATCH));
    forgotten += count;
    if (count < BATCH) break;
  }
  return forgotten;
}

/** Deletes what is remembered of deploy keys that were removed long ago, and returns how many. */
export async function forgetRemoved({ database, now }: Omit<ForgetOptions, 'recoveryWindowSeconds'>): Promise<number> {
  const before = new Date((now?.() ?? new Date()).getTime() - REMOVED_KEPT_MS);
  return inTransaction(database, (manager) => deleteRemovedDeployKeys(manager, before));
}

/** Destroys secrets of webhooks that sign no more. */
export async function forgetSecrets({ database, now }: Omit<ForgetOptions, 'recoveryWindowSeconds'>): Promise<number> {
  return inTransaction(database, (manager) => deleteEndedWebhookSecrets(manager, now?.() ?? new Date()));
}
