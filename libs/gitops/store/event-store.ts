import type { ObjectEvent } from '@fairlead/desired-state';
import type { EntityManager } from 'typeorm';

/** Of one cluster. */
const MAX_EVENTS = 200;

/** Adds those that were not told before, and forgets all but the newest. */
export async function appendClusterEvents(
  manager: EntityManager,
  clusterId: string,
  instance: string,
  events: readonly ObjectEvent[],
): Promise<void> {
  if (events.length === 0) return;
  await manager.query(
    `insert into cluster_events (cluster_id, instance, sequence, event)
     select $1, $2, (event ->> 'sequence')::bigint, event
       from jsonb_array_elements($3::jsonb) with ordinality as told (event, place) order by place
     on conflict do nothing`,
    [clusterId, instance, JSON.stringify(events)],
  );
  await manager.query(
    `delete from cluster_events where cluster_id = $1 and id <= (
       select id from cluster_events where cluster_id = $1 order by id desc offset $2 limit 1)`,
    [clusterId, MAX_EVENTS],
  );
}

/** Newest first. */
export async function listClusterEvents(manager: EntityManager, clusterId: string): Promise<ObjectEvent[]> {
  const sql = 'select event from cluster_events where cluster_id = $1 order by id desc limit $2';
  const rows = (await manager.query(sql, [clusterId, MAX_EVENTS])) as { event: ObjectEvent }[];
  return rows.map(({ event }) => event);
}
