import type { EntityManager } from 'typeorm';

/** A cluster whose repository has a schedule. */
export interface ScheduledCluster {
  readonly id: string;
  readonly tenantId: string;
  readonly hostId: string;
  readonly everySeconds: number;
  /** Since when it has its key; epoch milliseconds. */
  readonly readyAtMs: number;
}

/**
 * Clusters whose keys have had at least `share` of the time that their repository's schedule gives them, and that nothing seems to
 * stand in the way of: heard of, healthy, in no rollout, no breaker open. Not in any order.
 */
export function scheduledClusters(
  manager: EntityManager,
  { now, heardAfter, share }: { readonly now: Date; readonly heardAfter: Date; readonly share: number },
): Promise<ScheduledCluster[]> {
  return manager.query(
    `select c.id, c.tenant_id as "tenantId", r.host_id as "hostId", r.rotate_keys_seconds as "everySeconds",
            age.ready_at_ms as "readyAtMs"
       from clusters c
       join repositories r on r.id = (c.deploy_keys ->> 'repositoryId')::uuid and r.tenant_id = c.tenant_id
      cross join lateral (select (c.deploy_keys -> 'current' ->> 'readyAtMs')::float8 as ready_at_ms) age
      where r.rotate_keys_seconds is not null and c.absent_since is null
        and c.deploy_keys -> 'next' = 'null'::jsonb
        and age.ready_at_ms + r.rotate_keys_seconds * 1000::float8 * $3 <= $1
        and c.phase = 'healthy' and c.problem_code is null and c.waits_for is null
        and c.converged = c.touched and c.reported_at > $2
        and not (c.wish ->> 'suspend')::boolean
        and not exists (select from rollouts o where o.tenant_id = c.tenant_id and o.ended_at is null
                           and o.assignment in (c.assignment, c.adopted -> 'spec' ->> 'name'))
        and not exists (select from breakers b where b.tenant_id = c.tenant_id and b.breaker ->> 'state' = 'open')`,
    [now.getTime(), heardAfter, share],
  );
}

/** When the rotations of each Git host that are under way began, in clusters that were heard of; epoch milliseconds. */
export async function rotationsUnderWay(
  manager: EntityManager,
  heardAfter: Date,
): Promise<ReadonlyMap<string, number[]>> {
  const rows = (await manager.query(
    `select r.host_id as "hostId", coalesce((c.deploy_keys -> 'next' ->> 'begunAtMs')::float8, 0) as "begunAtMs"
       from clusters c join repositories r on r.id = (c.deploy_keys ->> 'repositoryId')::uuid
      where c.absent_since is null and c.reported_at > $1 and c.deploy_keys -> 'next' <> 'null'::jsonb`,
    [heardAfter],
  )) as { hostId: string; begunAtMs: number }[];
  const hosts = new Map<string, number[]>();
  for (const { hostId, begunAtMs } of rows) hosts.set(hostId, [...(hosts.get(hostId) ?? []), begunAtMs]);
  return hosts;
}
