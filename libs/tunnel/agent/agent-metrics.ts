import { Counter, Gauge, Registry } from '@fairlead/observability';

/** What an agent counts of its raw TCP connections. Labels are bounded: never a target. */
export function createAgentMetrics(registry: Registry) {
  const registers = [registry];
  return {
    connections: new Counter({
      name: 'fairlead_agent_tcp_connections_total',
      help: 'Raw TCP targets asked for, by outcome (ok, once the connection ended, or an error code).',
      labelNames: ['outcome'],
      registers,
    }),
    openConnections: new Gauge({
      name: 'fairlead_agent_tcp_open_connections',
      help: 'Connections to raw TCP targets that are open now.',
      registers,
    }),
    bytes: new Counter({
      name: 'fairlead_agent_tcp_bytes_total',
      help: 'Payload of raw TCP connections that ended.',
      labelNames: ['direction'],
      registers,
    }),
  };
}

export type AgentMetrics = ReturnType<typeof createAgentMetrics>;
