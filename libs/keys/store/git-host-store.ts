import { withAdvisoryLock } from '@fairlead/persistence';
import { In, type EntityManager } from 'typeorm';
import type { KnownHostKey } from '../domain/host-key-set.js';
import { GitHostKeyRow, GitHostRow, type StoredFinding } from './git-entities.js';

export type { StoredFinding } from './git-entities.js';
export type StoredGitHost = Readonly<GitHostRow>;

/** In the titles of this installation's deploy keys. */
export async function installationName(manager: EntityManager): Promise<string> {
  const [row] = (await manager.query('select name from installation')) as { name: string }[];
  if (!row) throw new Error('the database has no name of the installation');
  return row.name;
}

/** One at a time decides about a tenant's Git hosts, until the transaction ends. */
export function lockGitHosts(manager: EntityManager, tenantId: string): Promise<void> {
  return withAdvisoryLock(manager, `git-hosts:${tenantId}`);
}

export function findGitHost(manager: EntityManager, tenantId: string, name: string): Promise<StoredGitHost | null> {
  return manager.findOneBy(GitHostRow, { tenantId, name });
}

export function gitHostById(manager: EntityManager, id: string): Promise<StoredGitHost | null> {
  return manager.findOneBy(GitHostRow, { id });
}

export function gitHostsOf(manager: EntityManager, tenantId: string): Promise<StoredGitHost[]> {
  return manager.find(GitHostRow, { where: { tenantId }, order: { name: 'ASC' } });
}

export function allGitHosts(manager: EntityManager): Promise<StoredGitHost[]> {
  return manager.find(GitHostRow, { order: { id: 'ASC' } });
}

export async function saveGitHost(manager: EntityManager, host: StoredGitHost): Promise<void> {
  await manager.save(GitHostRow, { ...host, findings: [...host.findings] });
}

export async function updateGitHost(
  manager: EntityManager,
  id: string,
  change: Partial<Omit<GitHostRow, 'id' | 'findings'>>,
): Promise<void> {
  await manager.update(GitHostRow, { id }, change);
}

/** What its token may do, unless it was configured anew since. */
export async function saveFindings(
  manager: EntityManager,
  { id, revision }: StoredGitHost,
  { findings, expiresAt }: { readonly findings: StoredFinding[]; readonly expiresAt: Date | null },
  checkedAt: Date,
): Promise<void> {
  await manager.update(GitHostRow, { id, revision }, { findings, tokenExpiresAt: expiresAt, checkedAt });
}

/** With its keys, and what is left of its deploy keys. */
export async function deleteGitHostRow(manager: EntityManager, id: string): Promise<void> {
  await manager.delete(GitHostRow, { id });
}

/** Of these hosts, in the order they were first seen. */
export async function hostKeysOf(
  manager: EntityManager,
  hostIds: readonly string[],
): Promise<ReadonlyMap<string, readonly KnownHostKey[]>> {
  const found = new Map<string, KnownHostKey[]>(hostIds.map((id) => [id, []]));
  const order = { firstSeenAt: 'ASC', fingerprint: 'ASC' } as const;
  const rows = await manager.find(GitHostKeyRow, { where: { hostId: In([...hostIds]) }, order });
  for (const { hostId, ...key } of rows) found.get(hostId)?.push(key);
  return found;
}

/** These are all that are known of the host from now on. */
export async function replaceHostKeys(
  manager: EntityManager,
  hostId: string,
  keys: readonly KnownHostKey[],
): Promise<void> {
  await manager.delete(GitHostKeyRow, { hostId });
  if (keys.length > 0)
    await manager.insert(
      GitHostKeyRow,
      keys.map((key) => ({ ...key, hostId })),
    );
}

/**
 * Takes a host whose SSH keys are due to be looked at, and puts it off for so long, so that no other process takes it. Null: none is due
 * of any but these tenants.
 */
export async function takeDueScan(
  manager: EntityManager,
  putOffMs: number,
  except: readonly string[],
): Promise<StoredGitHost | null> {
  const [rows] = (await manager.query(
    `update git_hosts set scan_due_at = now() + $1 * interval '1 millisecond' where id = (
       select id from git_hosts where scan_due_at <= now() and tenant_id <> all ($2)
       order by scan_due_at limit 1 for update skip locked
     ) returning id`,
    [putOffMs, except],
  )) as [{ id: string }[], number];
  const [taken] = rows;
  return taken ? gitHostById(manager, taken.id) : null;
}
