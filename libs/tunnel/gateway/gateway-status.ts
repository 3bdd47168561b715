import { connectionState } from '@fairlead/messaging';
import type { Check } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';
import type { GatewayOptions, GatewayState } from './gateway-state.js';

/** Why a replica is, or is not, ready. */
export function readiness(nc: NatsConnection, state: GatewayState, draining: boolean): readonly Check[] {
  const { directory, routes, certificates } = state;
  const { identity, serving } = certificates;
  return [
    { name: 'certificates', ok: identity.current !== null && serving.current !== null },
    { name: 'snapshot', ok: directory.loaded && routes.snapshot.isLoaded },
    { name: 'snapshot-age', ok: directory.fresh, detail: 'beyond an hour no new links are taken' },
    // Being away from NATS is no reason to be taken out of service: what is known keeps working.
    { name: 'nats', ok: true, detail: natsState(nc) },
    { name: 'draining', ok: !draining },
  ];
}

/** What this replica holds and knows: no secrets, no payload. */
export function debugView({ nc, credential }: GatewayOptions, { instance, sessions, routes }: GatewayState): unknown {
  return {
    instance,
    credential,
    nats: natsState(nc),
    sessions: sessions.all().map((session) => ({
      ...session.facts,
      parked: session.parked,
      inFlight: session.inFlight,
    })),
    routes: [...routes.snapshot.entries()].map(([key, value]) => ({ key, ...value })),
  };
}

function natsState(nc: NatsConnection): string {
  return connectionState(nc).connected ? 'connected' : 'away; routing on what is known';
}
