import type { Issuer } from '@fairlead/contracts';
import type { EntityManager } from 'typeorm';
import { IssuerRow, LoginRow, SessionRow } from './login-entities.js';

export type StoredIssuer = Readonly<IssuerRow>;

export function findIssuer(manager: EntityManager, name: string): Promise<StoredIssuer | null> {
  return manager.findOneBy(IssuerRow, { name });
}

/** Keeps it from being changed, and logins from being made by it, until the transaction ends. */
export function lockIssuer(manager: EntityManager, name: string): Promise<StoredIssuer | null> {
  return manager.findOne(IssuerRow, { where: { name }, lock: { mode: 'pessimistic_write' } });
}

/** Keeps it from being changed or removed until the transaction ends; others may read it meanwhile. */
export function holdIssuer(manager: EntityManager, name: string): Promise<StoredIssuer | null> {
  return manager.findOne(IssuerRow, { where: { name }, lock: { mode: 'pessimistic_read' } });
}

/** By name. */
export function issuersOf(manager: EntityManager, tenantId: string): Promise<StoredIssuer[]> {
  return manager.find(IssuerRow, { where: { tenantId }, order: { name: 'ASC' } });
}

export async function saveIssuer(manager: EntityManager, tenantId: string, definition: Issuer): Promise<void> {
  const row = Object.assign(new IssuerRow(), { name: definition.name, tenantId, definition });
  await manager.save(IssuerRow, row);
}

/** With its sessions and logins. False: there was none. */
export async function deleteIssuer(manager: EntityManager, tenantId: string, name: string): Promise<boolean> {
  const { affected } = await manager.delete(IssuerRow, { tenantId, name });
  return (affected ?? 0) > 0;
}

/** Ends every login by it; returns how many there were. */
export async function endLoginsOf(manager: EntityManager, issuer: string): Promise<number> {
  const { affected } = await manager.delete(LoginRow, { issuer });
  await manager.delete(SessionRow, { issuer });
  return affected ?? 0;
}
