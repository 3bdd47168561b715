import type { EntityManager } from 'typeorm';
import type { ListState } from '../domain/revocation-list.js';
import type { Revoked } from '../domain/revoked.js';

/** In the caller's transaction, with what makes it true. */
export async function addRevoked(manager: EntityManager, tenantId: string, revoked: readonly Revoked[]): Promise<void> {
  if (revoked.length === 0) return;
  for (const { kind, value, before, until } of revoked) {
    await manager.query(
      `insert into revoked_statements (tenant_id, kind, value, before, until) values ($1, $2, $3, $4, $5)
       on conflict (tenant_id, kind, value) do update set
         before = greatest(revoked_statements.before, excluded.before), until = greatest(revoked_statements.until, excluded.until)`,
      [tenantId, kind, value, before, until],
    );
  }
  await changeList(manager, tenantId);
}

/** The next number: the list says something else now. */
export async function changeList(manager: EntityManager, tenantId: string): Promise<void> {
  await manager.query(
    `insert into revocation_lists as l (tenant_id, number) values ($1, 1)
     on conflict (tenant_id) do update set number = l.number + 1`,
    [tenantId],
  );
}

/** Tenants whose list has a number that was not told. */
export async function untoldTenants(manager: EntityManager): Promise<string[]> {
  const rows: readonly { tenantId: string }[] = await manager.query(
    'select tenant_id as "tenantId" from revocation_lists where number > told order by tenant_id',
  );
  return rows.map(({ tenantId }) => tenantId);
}

/** A list, and the document that was made of it; null: none was since it changed. */
interface StoredList extends ListState {
  readonly document: Buffer | null;
}

/** Nobody changes the list until the transaction ends. */
export async function lockList(manager: EntityManager, tenantId: string): Promise<StoredList | undefined> {
  const [row]: readonly (Omit<StoredList, 'number'> & { readonly number: string })[] = await manager.query(
    `select tenant_id as "tenantId", number, floor, required, case when document_number = number then document end as document
       from revocation_lists where tenant_id = $1 for update`,
    [tenantId],
  );
  return row && { ...row, number: Number(row.number) };
}

/** What was made of the list as it is: whoever tells it next tells the same. */
export async function keepDocument(
  manager: EntityManager,
  { tenantId, number, document }: Pick<StoredList, 'tenantId' | 'number'> & { readonly document: Uint8Array },
): Promise<void> {
  await manager.query('update revocation_lists set document = $3, document_number = $2 where tenant_id = $1', [
    tenantId,
    number,
    Buffer.from(document),
  ]);
}

/** Those that still end something, the latest first, but those of administrators before all. What has ended by itself is forgotten. */
export async function takeRevoked(manager: EntityManager, tenantId: string, now: Date): Promise<Revoked[]> {
  await manager.query('delete from revoked_statements where tenant_id = $1 and until <= $2', [tenantId, now]);
  return manager.query(
    "select kind, value, before, until from revoked_statements where tenant_id = $1 order by kind = 'administrator' desc, before desc, kind, value",
    [tenantId],
  );
}

/** All up to then go by the floor from now on. */
export async function raiseFloor(manager: EntityManager, tenantId: string, floor: Date): Promise<void> {
  await manager.query('update revocation_lists set floor = greatest(floor, $2) where tenant_id = $1', [
    tenantId,
    floor,
  ]);
  await manager.query(
    `delete from revoked_statements where tenant_id = $1 and before <= $2 and kind <> 'administrator'`,
    [tenantId, floor],
  );
}

export async function markTold(manager: EntityManager, tenantId: string, number: number): Promise<void> {
  await manager.query('update revocation_lists set told = $2 where tenant_id = $1 and told < $2', [tenantId, number]);
}

/** The list goes on above this number. */
export async function skipBeyond(manager: EntityManager, tenantId: string, held: number): Promise<void> {
  await manager.query('update revocation_lists set number = $2 where tenant_id = $1 and number < $2', [
    tenantId,
    held + 1,
  ]);
}

/** Clusters that take nobody without a statement. Again: no change. */
export async function setRequired(
  manager: EntityManager,
  tenantId: string,
  required: readonly string[],
): Promise<void> {
  await manager.query(
    `insert into revocation_lists as l (tenant_id, number, required) values ($1, 1, $2)
     on conflict (tenant_id) do update set number = l.number + 1, required = excluded.required
       where l.required is distinct from excluded.required`,
    [tenantId, required],
  );
}

/** What is said of it now. */
export async function requiredOf(manager: EntityManager, tenantId: string): Promise<readonly string[]> {
  const [row]: readonly { required: string[] }[] = await manager.query(
    'select required from revocation_lists where tenant_id = $1',
    [tenantId],
  );
  return row?.required ?? [];
}
