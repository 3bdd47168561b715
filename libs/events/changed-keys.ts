import { Any, Column, Entity, PrimaryGeneratedColumn, type EntityManager } from 'typeorm';

/** For a service's own migration: the table as it was in version 1. */
export const CHANGED_KEYS_TABLE_V1: readonly string[] = [
  `create table changed_keys (
    id bigint generated always as identity primary key,
    bucket text not null,
    key text not null
  )`,
  'create index changed_keys_of_bucket on changed_keys (bucket, id)',
];

/** A key of a bucket whose value follows from rows that were changed in the same transaction. */
@Entity('changed_keys')
export class ChangedKeyRow {
  /** A 64-bit number, so a string. */
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @Column({ type: 'text' })
  bucket!: string;

  @Column({ type: 'text' })
  key!: string;
}

/**
 * Says in the caller's transaction that these keys may have other values once it commits. It waits for nobody: a key that is changed often is there
 * often.
 */
export async function markChanged(manager: EntityManager, bucket: string, keys: Iterable<string>): Promise<void> {
  const rows = [...new Set(keys)].map((key) => ({ bucket, key }));
  if (rows.length > 0) await manager.insert(ChangedKeyRow, rows);
}

/** Is anything to be taken? */
export function anyChanged(manager: EntityManager, bucket: string): Promise<boolean> {
  return manager.existsBy(ChangedKeyRow, { bucket });
}

/** Takes the oldest of them away, for whoever brings their values to the bucket before this transaction commits. */
export async function takeChanged(manager: EntityManager, bucket: string, limit: number): Promise<string[]> {
  const rows = await manager.find(ChangedKeyRow, { where: { bucket }, order: { id: 'ASC' }, take: limit });
  if (rows.length > 0) await manager.delete(ChangedKeyRow, { id: Any(rows.map(({ id }) => id)) });
  return rows.map(({ key }) => key);
}
