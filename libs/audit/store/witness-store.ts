import { MAX_COSIGNED_CHECKPOINTS, type AuditWitness, type CosignedCheckpoint } from '@fairlead/contracts';
import type { EntityManager } from 'typeorm';
import type { TreeName } from './tile-store.js';

/** What a witness made of one tree, the last time that it was asked. */
export interface StoredWitness {
  readonly verifierKey: string;
  readonly state: AuditWitness['state'];
  readonly why: string;
  readonly size: number;
  readonly cosignedAt: Date | null;
  readonly askedAt: Date;
  /** In a row. */
  readonly failures: number;
  /** It is asked no sooner. */
  readonly askAfter: Date;
}

/** False: another replica asks. Both asking about two checkpoints would leave each with half of the witnesses. */
export async function claimWitnessing(
  manager: EntityManager,
  tenantId: string,
  now: Date,
  until: Date,
): Promise<boolean> {
  const claimed = (await manager.query(
    `with claimed as (update audit_trees set witnesses_after = $3 where tenant_id = $1 and witnesses_after <= $2 returning 1)
     select count(*)::int as count from claimed`,
    [tenantId, now, until],
  )) as [{ count: number }];
  return claimed[0].count > 0;
}

/** Somebody may ask again after `now`, unless the claim to `until` was somebody else's by then. */
export async function releaseWitnessing(
  manager: EntityManager,
  tenantId: string,
  until: Date,
  now: Date,
): Promise<void> {
  const sql = 'update audit_trees set witnesses_after = $3 where tenant_id = $1 and witnesses_after = $2';
  await manager.query(sql, [tenantId, until, now]);
}

export async function findWitnesses(
  manager: EntityManager,
  { tenantId, incarnation }: TreeName,
): Promise<Map<string, StoredWitness>> {
  const rows = (await manager.query(
    `select verifier_key as "verifierKey", state, why, size, cosigned_at as "cosignedAt", asked_at as "askedAt", failures, ask_after as "askAfter"
       from audit_witnesses where tenant_id = $1 and incarnation = $2`,
    [tenantId, incarnation],
  )) as (Omit<StoredWitness, 'size'> & { readonly size: string })[];
  return new Map(rows.map((row) => [row.verifierKey, { ...row, size: Number(row.size) }]));
}

export async function saveWitness(manager: EntityManager, tree: TreeName, witness: StoredWitness): Promise<void> {
  const { verifierKey, state, why, size, cosignedAt, askedAt, failures, askAfter } = witness;
  await manager.query(
    `insert into audit_witnesses (tenant_id, incarnation, verifier_key, state, why, size, cosigned_at, asked_at, failures, ask_after)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict (tenant_id, incarnation, verifier_key) do update set state = excluded.state, why = excluded.why, size = excluded.size,
       cosigned_at = excluded.cosigned_at, asked_at = excluded.asked_at, failures = excluded.failures, ask_after = excluded.ask_after`,
    [tree.tenantId, tree.incarnation, verifierKey, state, why, size, cosignedAt, askedAt, failures, askAfter],
  );
}

/** The largest first. */
export async function findCosigned(
  manager: EntityManager,
  { tenantId, incarnation }: TreeName,
): Promise<CosignedCheckpoint[]> {
  const rows = (await manager.query(
    'select size, note as checkpoint from audit_cosigned where tenant_id = $1 and incarnation = $2 order by size desc limit $3',
    [tenantId, incarnation, MAX_COSIGNED_CHECKPOINTS],
  )) as { size: string; checkpoint: string }[];
  return rows.map(({ size, checkpoint }) => ({ size: Number(size), checkpoint }));
}

/** Keeps the newest ones. */
export async function saveCosigned(
  manager: EntityManager,
  tree: TreeName,
  { size, checkpoint }: CosignedCheckpoint,
): Promise<void> {
  const { tenantId, incarnation } = tree;
  await manager.query(
    `insert into audit_cosigned (tenant_id, incarnation, size, note) values ($1, $2, $3, $4)
     on conflict (tenant_id, incarnation, size) do update set note = excluded.note`,
    [tenantId, incarnation, size, checkpoint],
  );
  await manager.query(
    `delete from audit_cosigned where tenant_id = $1 and incarnation = $2 and size not in
       (select size from audit_cosigned where tenant_id = $1 and incarnation = $2 order by size desc limit $3)`,
    [tenantId, incarnation, MAX_COSIGNED_CHECKPOINTS],
  );
}
