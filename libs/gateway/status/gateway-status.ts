import { connectionState } from '@fairlead/messaging';
import type { Check } from '@fairlead/observability';
import type { AgentSession } from '@fairlead/tunnel/gateway';
import type { NatsConnection } from '@nats-io/transport-node';
import type { GatewayOptions, GatewayState } from '../gateway-state.js';
import type { LiveConnection } from '../passage/live-connections.js';

/** Why a replica is, or is not, ready. */
export function readiness(nc: NatsConnection, state: GatewayState, draining: boolean): readonly Check[] {
  const { directory, routes, certificates } = state;
  const { identity, serving } = certificates;
  return [
    { name: 'certificates', ok: identity.current !== null && serving.current !== null },
    { name: 'trust-bundle', ok: directory.trust.loaded, detail: `version ${directory.trust.version} of the roots` },
    { name: 'snapshot', ok: directory.loaded && routes.snapshot.isLoaded },
    { name: 'snapshot-age', ok: directory.fresh, detail: 'beyond an hour no new links are taken' },
    // Being away from NATS is no reason to be taken out of service: what is known keeps working.
    { name: 'nats', ok: true, detail: natsState(nc) },
    { name: 'draining', ok: !draining },
  ];
}

/** Of each list in the debug view; how many there are in all stands beside it. */
const MAX_SHOWN = 1_000;

/** What this replica holds and knows: no secrets, no payload. Its size is bounded. */
export function debugView(options: GatewayOptions, state: GatewayState): unknown {
  const { instance, directory, sessions, routes, live } = state;
  const shown = sessions.all().slice(0, MAX_SHOWN);
  const clusters = [...directory.clusters()];
  return {
    instance,
    credential: options.credential,
    trustVersion: directory.trust.version,
    nats: natsState(options.nc),
    totals: {
      sessions: sessions.all().length,
      connections: live.size,
      tunnelsInUse: sessions.inFlight,
      clusters: clusters.length,
    },
    sessions: shown.map(describeSession),
    connections: [...live].slice(0, MAX_SHOWN).map(describe),
    routes: [...routes.snapshot.entries()].slice(0, MAX_SHOWN).map(([key, value]) => ({ key, ...value })),
    clusters: clusters
      .slice(0, MAX_SHOWN)
      .map(({ tenantId, clusterId, name, generation }) => ({ tenantId, clusterId, name, generation })),
  };
}

function describeSession({ facts, trustVersion, parked, inFlight }: AgentSession): unknown {
  return { ...facts, trustVersion, parked, inFlight };
}

function describe(connection: LiveConnection): unknown {
  const { door, id, who, tenantId, clusterId, address, target, sinceMs } = connection;
  return {
    door,
    id,
    who,
    tenantId,
    clusterId,
    target,
    address,
    since: new Date(sinceMs).toISOString(),
    bytesUp: connection.bytesUp(),
    bytesDown: connection.bytesDown(),
    heldBytes: connection.heldBytes(),
  };
}

function natsState(nc: NatsConnection): string {
  return connectionState(nc).connected ? 'connected' : 'away; routing on what is known';
}
