import { systemClock } from '@fairlead/clock';
import { connectionState } from '@fairlead/messaging';
import type { Check } from '@fairlead/observability';
import type { AgentSession, CertificateSource } from '@fairlead/tunnel/gateway';
import type { NatsConnection } from '@nats-io/transport-node';
import type { GatewayOptions, GatewayState } from '../gateway-state.js';
import type { LiveConnection } from '../passage/live-connections.js';

/**
 * Why a replica is, or is not, ready: whether a balancer should send it anything. What fails at all replicas at once must not take them all out of
 * service, as what they know and hold keeps working: so NATS, and all that comes of its being away, is told and counts only until it was there once.
 */
export function readiness(
  nc: NatsConnection,
  state: GatewayState,
  draining: boolean,
  nowMs: number = systemClock.nowMs(),
): readonly Check[] {
  const { directory, routes } = state;
  const isAway = !connectionState(nc).connected;
  return [
    ...certificateChecks(state, isAway, nowMs),
    { name: 'trust-bundle', ok: directory.trust.loaded, detail: `version ${directory.trust.version} of the roots` },
    { name: 'snapshot', ok: directory.loaded && routes.snapshot.isLoaded },
    { name: 'snapshot-age', ok: true, detail: directory.fresh ? 'fresh' : 'above an hour: no new links are taken' },
    { name: 'nats', ok: true, detail: natsState(nc) },
    { name: 'draining', ok: !draining },
  ];
}

/** Nobody takes a door's certificate that has ended. An identity that could not be renewed as NATS is away still carries the links that stand. */
function certificateChecks({ certificates }: GatewayState, isAway: boolean, nowMs: number): Check[] {
  const { identity, serving } = certificates;
  const hasEnded = ({ current }: CertificateSource): boolean => current !== null && current.notAfter.getTime() <= nowMs;
  const ended = { identity: hasEnded(identity), serving: hasEnded(serving) };
  return [
    { name: 'certificates', ok: identity.current !== null && serving.current !== null },
    { name: 'certificate-identity', ok: !ended.identity || isAway, detail: ended.identity ? 'it has ended' : 'valid' },
    { name: 'certificate-serving', ok: !ended.serving, detail: ended.serving ? 'it has ended' : 'valid' },
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
