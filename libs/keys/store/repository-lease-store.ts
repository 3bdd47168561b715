import { withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';

/** A repository that one process works on. */
export interface LeasedRepository {
  readonly hostId: string;
  readonly path: string;
  readonly lease: string;
  /** When it was due, as the database writes it: another time since means that somebody wants it looked at again. */
  readonly dueAt: string;
}

export interface LeaseLimits {
  readonly leaseMs: number;
  /** Of one host, in all processes. */
  readonly perHost: number;
  /** Of one tenant, in all processes: hosts that are slow keep no other tenant waiting. */
  readonly perTenant: number;
}

/** A repository's keys are to be looked at as soon as possible; a first time, too. */
export async function wakeRepository(manager: EntityManager, hostId: string, path: string): Promise<void> {
  await manager.query(
    `insert into deploy_key_repositories (host_id, path) values ($1, $2)
     on conflict (host_id, path) do update set due_at = clock_timestamp()`,
    [hostId, path],
  );
}

/** The host may answer otherwise than before: all of its repositories are looked at now. */
export async function wakeRepositories(manager: EntityManager, hostId: string): Promise<void> {
  await manager.query('update deploy_key_repositories set due_at = clock_timestamp() where host_id = $1', [hostId]);
}

/**
 * The repository that has been due longest, of the tenants with the fewest leases, if its host may be asked now. A process that ends
 * without `releaseRepository` holds it until the lease ends.
 */
export async function leaseRepository(
  manager: EntityManager,
  { leaseMs, perHost, perTenant }: LeaseLimits,
): Promise<LeasedRepository | null> {
  // Two that count at once would both find room.
  await withAdvisoryLock(manager, 'deploy-key-leases');
  const lease = crypto.randomUUID();
  const [rows] = (await manager.query(
    `with share as (
       select host.tenant_id, count(*) as leases
       from deploy_key_repositories leased join git_hosts host on host.id = leased.host_id
       where leased.leased_until > now() group by host.tenant_id
     )
     update deploy_key_repositories set lease = $1, leased_until = now() + $2 * interval '1 millisecond'
     where (host_id, path) = (
       select repository.host_id, repository.path
       from deploy_key_repositories repository join git_hosts host on host.id = repository.host_id
         left join share on share.tenant_id = host.tenant_id
       where repository.due_at <= now()
         and (repository.leased_until is null or repository.leased_until <= now())
         and (host.retry_at is null or host.retry_at <= now())
         and (select count(*) from deploy_key_repositories busy
           where busy.host_id = repository.host_id and busy.leased_until > now()) < $3
         and coalesce(share.leases, 0) < $4
       order by coalesce(share.leases, 0), repository.due_at limit 1 for update of repository skip locked
     ) returning host_id as "hostId", path, due_at::text as "dueAt"`,
    [lease, leaseMs, perHost, perTenant],
  )) as [Omit<LeasedRepository, 'lease'>[], number];
  const [row] = rows;
  return row ? { ...row, lease } : null;
}

/**
 * When it is due next: `now`; `never`, until it is woken; or so often, between half and all of that time, but no more than one
 * request each `paceMs` for all of the host's repositories together.
 */
export type NextRun = 'now' | 'never' | { readonly everyMs: number; readonly paceMs: number; readonly pages: number };

/** Somebody else may lease it. Whoever woke it meanwhile is heard. */
export async function releaseRepository(
  manager: EntityManager,
  { hostId, path, lease, dueAt }: LeasedRepository,
  next: NextRun,
): Promise<void> {
  const regular = typeof next === 'object';
  const { everyMs, paceMs, pages } = regular ? next : { everyMs: 0, paceMs: 0, pages: 1 };
  const due = {
    now: 'clock_timestamp()',
    never: `'infinity'::timestamptz`,
    regular: `clock_timestamp() + interval '1 millisecond' * (0.5 + random() / 2) * greatest($5::float8,
      $6::float8 * (select sum(other.pages) from deploy_key_repositories other where other.host_id = $1))`,
  }[regular ? 'regular' : next];
  await manager.query(
    `update deploy_key_repositories set lease = null, leased_until = null, pages = $7,
       due_at = case when due_at = $4::timestamptz then ${due} else due_at end
     where host_id = $1 and path = $2 and lease = $3 and $5::float8 >= 0 and $6::float8 >= 0`,
    [hostId, path, lease, dueAt, everyMs, paceMs, pages],
  );
}
