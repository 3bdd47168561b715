import { createHash } from 'node:crypto';
import { appendEventOnce, createEvent, type EventInput } from '@fairlead/events';
import type { Crowd } from '../domain/presence-index.js';
import { findCluster } from '../store/cluster-store.js';
import { commit, type Runtime } from './runtime.js';

/**
 * Says that several processes have the identity of one cluster, and are not the pods of its agent, in the log and as an event. Of the instances of this service,
 * which all see it, the first one tells it. UNAVAILABLE if the database is away.
 */
export async function reportDuplicate(
  runtime: Runtime,
  { tenantId, clusterId, duplicate, agents }: Crowd,
): Promise<void> {
  const recorded = await commit(runtime, async (manager) => {
    const cluster = await findCluster(manager, clusterId);
    if (!cluster) return false;
    const data: EventInput<'dev.fairlead.agent.duplicated.v1'> = {
      tenantId,
      clusterId,
      name: cluster.name,
      duplicate,
      agents: [...agents],
      subject: `cluster/${clusterId}`,
      actor: { kind: 'agent', id: clusterId, address: agents.at(-1)?.addresses[0] },
      reason: 'OK',
    };
    const id = appearanceId(clusterId, agents);
    const event = createEvent(runtime.source, 'dev.fairlead.agent.duplicated.v1', data, runtime.now(), id);
    return appendEventOnce(manager, event);
  });
  const addresses = agents.flatMap((agent) => agent.addresses);
  if (recorded) runtime.logger.warn('agent.duplicated', { clusterId, duplicate, agents: agents.length, addresses });
}

/** One UUID (version 8) for these processes of this cluster. */
function appearanceId(clusterId: string, agents: Crowd['agents']): string {
  const instances = agents.map(({ instance }) => instance).sort();
  const hex = createHash('sha256')
    .update(JSON.stringify([clusterId, instances]))
    .digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
