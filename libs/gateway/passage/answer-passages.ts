import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  MAX_PASSAGES,
  comparePlaces,
  gatewayRpc,
  readPlace,
  type OpenPassage,
  type PassageFilter,
  type Place,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { serveReplicaRpc } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';
import type { GatewayMetrics } from '../status/gateway-metrics.js';
import type { LiveConnection, LiveConnections } from './live-connections.js';
import { shutOut } from './watch-connections.js';

/** Looked at in one turn of the event loop. */
const AT_ONCE = 500;

export interface AnswerOptions {
  readonly nc: NatsConnection;
  /** Of this replica. */
  readonly credential: string;
  readonly live: LiveConnections;
  readonly metrics: GatewayMetrics;
  readonly logger: Logger;
}

/** Tells the control plane what goes through this replica's doors, and ends of it what it is told to. */
export function answerPassages(options: AnswerOptions): void {
  const { nc, credential: replica, logger, live } = options;
  const serving = { nc, replica, logger };
  serveReplicaRpc(
    gatewayRpc.listPassages,
    async ({ tenantId, input: { after, ...filter } }) => {
      const begin = after === undefined ? null : readPlace(after);
      const found = (await matching(live, tenantId, filter))
        .filter((each) => begin === null || comparePlaces(begin, placeOf(each)) < 0)
        .sort((one, other) => comparePlaces(placeOf(one), placeOf(other)));
      const passages = found.slice(0, MAX_PASSAGES).map((each) => toldOf(each, replica));
      return { passages, more: found.length - passages.length };
    },
    serving,
  );
  serveReplicaRpc(
    gatewayRpc.endPassages,
    async ({ tenantId, input: { by, reason, ...filter } }) => {
      const found = await matching(live, tenantId, filter);
      const cause = new FairleadError('SESSION_ENDED', `${by} ended this session: ${reason}`);
      for (const each of found) shutOut(options, each, cause);
      return { ended: found.length };
    },
    serving,
  );
}

const placeOf = ({ sinceMs: atMs, id }: LiveConnection): Place => ({ atMs, id });

async function matching(live: LiveConnections, tenantId: string, filter: PassageFilter): Promise<LiveConnection[]> {
  const found: LiveConnection[] = [];
  let looked = 0;
  for (const each of live) {
    if (each.tenantId === tenantId && meets(each, filter)) found.push(each);
    looked += 1;
    // Whatever their number, they do not keep what goes through them waiting.
    if (looked % AT_ONCE === 0) await nextTurn();
  }
  return found;
}

function meets(connection: LiveConnection, { id = connection.id, cluster, user, kind }: PassageFilter): boolean {
  if (connection.id !== id) return false;
  if (cluster === undefined && user === undefined && kind === undefined) return true;
  const shown = connection.shown();
  return [
    [cluster, shown.cluster],
    [user, shown.user],
    [kind, shown.kind],
  ].every(([wanted, found]) => wanted === undefined || wanted === found);
}

function toldOf(connection: LiveConnection, gateway: string): OpenPassage {
  const { id, clusterId, address, sinceMs } = connection;
  return {
    id,
    gateway,
    clusterId,
    address,
    since: new Date(sinceMs).toISOString(),
    bytesUp: connection.bytesUp(),
    bytesDown: connection.bytesDown(),
    ...connection.shown(),
  };
}
