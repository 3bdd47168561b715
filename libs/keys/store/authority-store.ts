import { NO_TENANT, type SignedTrust } from '@fairlead/contracts';
import { withAdvisoryLock, withSharedAdvisoryLock } from '@fairlead/persistence';
import { Not, type EntityManager } from 'typeorm';
import { holdAuthority, type AuthorityKind, type AuthorityState, type HeldAuthority } from '../domain/authority.js';
import { sealedContext } from '../domain/sealed-context.js';
import { AuthorityRow, IssuingRequestRow, TrustBundleRow } from './entities.js';
import type { Sealer } from './sealer.js';

const LOCK = 'authorities';

/** Until the transaction ends nobody changes a CA: what is signed now is on record before the next step looks. */
export function shareAuthorities(manager: EntityManager): Promise<void> {
  return withSharedAdvisoryLock(manager, LOCK);
}

/** Until the transaction ends nobody else changes a CA, or signs. */
export function lockAuthorities(manager: EntityManager): Promise<void> {
  return withAdvisoryLock(manager, LOCK);
}

/** Changes with every change of a CA that counts, and of the trust bundle. Cheap; empty before there is a CA. */
export async function authoritiesStamp(manager: EntityManager): Promise<string> {
  const rows = (await manager.query(
    `select string_agg(id || ' ' || state, ',' order by id) || ',' ||
       coalesce((select max(version) from trust_bundles), 0) as stamp
     from authorities where state <> 'retired'`,
  )) as { stamp: string | null }[];
  return rows[0]?.stamp ?? '';
}

/** Those that are not retired, keys opened. INVALID_ARGUMENT for another master key. */
export async function findAuthorities(manager: EntityManager, sealer: Sealer): Promise<HeldAuthority[]> {
  const rows = await manager.find(AuthorityRow, { where: { state: Not('retired') }, order: { id: 'ASC' } });
  return Promise.all(rows.map((row) => toHeld(row, sealer)));
}

export async function insertAuthority(
  manager: EntityManager,
  sealer: Sealer,
  authority: HeldAuthority,
  now: Date,
): Promise<void> {
  const { id, kind, state, certificatePem, privateKeyPem, rootId, crossPem, notAfter } = authority;
  const sealedKey = privateKeyPem === null ? null : await sealer.seal(privateKeyPem, sealedContext.authority(id, kind));
  const row = { id, tenantId: NO_TENANT, kind, state, certificatePem, sealedKey, rootId, crossPem, notAfter };
  await manager.insert(AuthorityRow, { ...row, stateSince: now });
}

/** All of a tree that are in one state go on to another. What is retired signs nothing ever again: its key is destroyed. */
export async function moveAuthorities(
  manager: EntityManager,
  kinds: readonly AuthorityKind[],
  from: AuthorityState,
  to: AuthorityState,
  now: Date,
): Promise<void> {
  const destroyed = to === 'retired' ? { sealedKey: null } : {};
  for (const kind of kinds) {
    await manager.update(AuthorityRow, { kind, state: from }, { state: to, stateSince: now, ...destroyed });
  }
}

/** Since when an authority is in its state. */
export async function stateSince(manager: EntityManager, id: string): Promise<Date | null> {
  return (await manager.findOneBy(AuthorityRow, { id }))?.stateSince ?? null;
}

export type StoredBundle = SignedTrust & { readonly version: number };

/** Null before the first one was signed. */
export async function newestBundle(manager: EntityManager): Promise<StoredBundle | null> {
  const [row] = await manager.find(TrustBundleRow, { order: { version: 'DESC' }, take: 1 });
  if (!row) return null;
  const { bundle, signerChain, signature, version } = row;
  return { bundle, signerChain, signature, version };
}

/** A new version, or a known one signed anew. */
export async function saveBundle(manager: EntityManager, bundle: StoredBundle, now: Date): Promise<void> {
  const { version, signerChain, signature } = bundle;
  const row = { version, bundle: bundle.bundle, signerChain, signature, signedAt: now };
  await manager.upsert(TrustBundleRow, row, ['version']);
}

/** Keeps a key, sealed, until the certificate that was asked for it comes. */
export async function keepRequestedKey(
  manager: EntityManager,
  sealer: Sealer,
  spkiSha256: string,
  privateKeyPem: string,
): Promise<void> {
  const sealedKey = await sealer.seal(privateKeyPem, sealedContext.issuingRequest(spkiSha256));
  await manager.insert(IssuingRequestRow, { spkiSha256, sealedKey });
}

/** Null if no certificate was asked for such a key. */
export async function requestedKey(manager: EntityManager, sealer: Sealer, spkiSha256: string): Promise<string | null> {
  const row = await manager.findOneBy(IssuingRequestRow, { spkiSha256 });
  return row && sealer.unseal(row.sealedKey, sealedContext.issuingRequest(spkiSha256));
}

/** The key is a CA's now, or never will be. */
export async function forgetRequestedKey(manager: EntityManager, spkiSha256: string): Promise<void> {
  await manager.delete(IssuingRequestRow, { spkiSha256 });
}

async function toHeld(row: AuthorityRow, sealer: Sealer): Promise<HeldAuthority> {
  const { id, kind, state, certificatePem, sealedKey, rootId, crossPem } = row;
  const privateKeyPem = sealedKey === null ? null : await sealer.unseal(sealedKey, sealedContext.authority(id, kind));
  return { ...holdAuthority({ certificatePem, privateKeyPem }, { kind, state, rootId, crossPem }), id };
}
