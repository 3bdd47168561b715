import { Counter, Gauge, Registry } from '@fairlead/observability';

/** What a replica counts. Labels are bounded: never a cluster name or a user. */
export function createGatewayMetrics(registry: Registry) {
  const registers = [registry];
  return {
    tunnels: new Counter({
      name: 'fairlead_gateway_tunnels_total',
      help: 'Tunnels asked for by doors, by the way taken and the outcome (ok or an error code).',
      labelNames: ['via', 'outcome'],
      registers,
    }),
    relayedTunnels: new Counter({
      name: 'fairlead_gateway_relayed_tunnels_total',
      help: 'Tunnels between replicas: "out" from a door here to an agent elsewhere, "in" from another replica to an agent here.',
      labelNames: ['direction'],
      registers,
    }),
    relayedBytes: new Counter({
      name: 'fairlead_gateway_relayed_bytes_total',
      help: 'Bytes spliced for other replicas, as framed on the wire; forward is towards the agent.',
      labelNames: ['direction'],
      registers,
    }),
    sessions: new Gauge({
      name: 'fairlead_gateway_agent_sessions',
      help: 'Agent links held by this replica.',
      registers,
    }),
    sessionsEnded: new Counter({
      name: 'fairlead_gateway_agent_sessions_ended_total',
      help: 'Agent links that ended.',
      registers,
    }),
    requests: new Counter({
      name: 'fairlead_gateway_kube_requests_total',
      help: 'Requests at the Kubernetes API door, by status class or the code of our own refusal.',
      labelNames: ['outcome'],
      registers,
    }),
    connects: new Counter({
      name: 'fairlead_gateway_connect_connections_total',
      help: 'Connections at the CONNECT door, by outcome (ok, once the connection ended, or an error code).',
      labelNames: ['outcome'],
      registers,
    }),
    connectOpen: new Gauge({
      name: 'fairlead_gateway_connect_open_connections',
      help: 'Connections through the CONNECT door that have their target now.',
      registers,
    }),
    connectBytes: new Counter({
      name: 'fairlead_gateway_connect_bytes_total',
      help: 'Payload of connections through the CONNECT door that ended; up is towards the target.',
      labelNames: ['direction'],
      registers,
    }),
    http2Abuse: new Counter({
      name: 'fairlead_gateway_http2_abuse_total',
      help: 'HTTP/2 sessions that were ended for what their peer did, by port and reason.',
      labelNames: ['door', 'reason'],
      registers,
    }),
    enrolments: new Counter({
      name: 'fairlead_gateway_enrolments_total',
      help: 'Enrolments carried to registration, by outcome.',
      labelNames: ['outcome'],
      registers,
    }),
  };
}

export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>;
