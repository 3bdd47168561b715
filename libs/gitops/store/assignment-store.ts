import type { Assignment } from '@fairlead/contracts';
import type { EntityManager } from 'typeorm';
import { AssignmentRow } from './entities.js';

export type StoredAssignment = Readonly<AssignmentRow>;

/** Keeps it from changing until the transaction ends. */
export function lockAssignment(
  manager: EntityManager,
  tenantId: string,
  name: string,
): Promise<StoredAssignment | null> {
  return manager.findOne(AssignmentRow, { where: { tenantId, name }, lock: { mode: 'pessimistic_write' } });
}

/** By name. */
export function listAssignments(manager: EntityManager, tenantId: string): Promise<StoredAssignment[]> {
  return manager.find(AssignmentRow, { where: { tenantId }, order: { name: 'ASC' } });
}

export function allAssignments(manager: EntityManager): Promise<StoredAssignment[]> {
  return manager.find(AssignmentRow);
}

export async function saveAssignment(manager: EntityManager, assignment: StoredAssignment): Promise<void> {
  await manager.upsert(AssignmentRow, manager.create(AssignmentRow, assignment), ['tenantId', 'name']);
}

export async function deleteAssignment(manager: EntityManager, tenantId: string, name: string): Promise<void> {
  await manager.delete(AssignmentRow, { tenantId, name });
}

/** What must not go: what is desired, what was brought everywhere, what clusters follow, and what they may go back to. */
export async function specsInUse(manager: EntityManager, tenantId: string): Promise<Assignment[]> {
  const rows = (await manager.query(
    `select spec from assignments where tenant_id = $1
     union select stable from assignments where tenant_id = $1 and stable is not null
     union select adopted -> 'spec' from clusters
       where tenant_id = $1 and absent_since is null and adopted is not null
     union select former -> 'spec' from rollouts, jsonb_array_elements(formers) as former
       where tenant_id = $1 and ended_at is null`,
    [tenantId],
  )) as { spec: Assignment }[];
  return rows.map(({ spec }) => spec);
}
