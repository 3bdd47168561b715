import { Counter, Gauge, Histogram, LiveCounter, Registry, gaugeAtScrape } from '@fairlead/observability';

const DIAL_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** What an agent counts of its raw TCP connections. Labels are bounded: never a target. */
export function createAgentMetrics(registry: Registry) {
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> =>
    new Counter({ name, help, labelNames, registers });
  const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers });
  return {
    connections: counter(
      'fairlead_agent_tcp_connections_total',
      'Raw TCP targets asked for, by outcome (ok, once the connection ended, or an error code).',
      ['outcome'],
    ),
    openConnections: gauge('fairlead_agent_tcp_open_connections', 'Connections to raw TCP targets that are open now.'),
    pendingDials: gauge('fairlead_agent_tcp_pending_dials', 'Raw TCP targets that are being resolved and dialled now.'),
    dialSeconds: new Histogram({
      name: 'fairlead_agent_tcp_dial_seconds',
      help: 'From the Open to the connection to a raw TCP target, where there was one.',
      buckets: DIAL_SECONDS,
      registers,
    }),
    bytes: new LiveCounter({
      name: 'fairlead_agent_tcp_bytes_total',
      help: 'Payload of raw TCP connections, counted while it goes.',
      label: 'direction',
      registry,
    }),
    egress: counter(
      'fairlead_agent_egress_connections_total',
      'Connections out of the cluster, by outcome (ok, once the connection ended, or an error code).',
      ['outcome'],
    ),
    egressOpen: gauge(
      'fairlead_agent_egress_open_connections',
      'Connections out of the cluster that have their target now.',
    ),
    egressBytes: new LiveCounter({
      name: 'fairlead_agent_egress_bytes_total',
      help: 'Payload of connections out of the cluster, counted while it goes; out is away from the cluster.',
      label: 'direction',
      registry,
    }),
    kubeRequestsFailed: counter(
      'fairlead_agent_kube_requests_failed_total',
      'Requests that did not reach the kube-apiserver, by code.',
      ['code'],
    ),
  };
}

/** What the links of an agent are doing. */
export interface LinkFigures {
  readonly links: number;
  readonly parked: number;
  readonly inUse: number;
}

/** Reads the figures at each scrape. */
export function meterLinks(registry: Registry, figures: () => LinkFigures): void {
  const gauge = (name: string, help: string, figure: keyof LinkFigures): void =>
    gaugeAtScrape(registry, { name: `fairlead_agent_${name}`, help }, (read) => read.set(figures()[figure]));
  gauge('links', 'Links to gateways that stand.', 'links');
  gauge('tunnels_parked', 'Tunnels that wait to be used, on all links.', 'parked');
  gauge('tunnels_in_use', 'Tunnels that carry a connection, on all links.', 'inUse');
}

/** When the identity of the agent ends, milliseconds since the epoch; undefined as long as it has none. */
export function meterIdentity(registry: Registry, endMs: () => number | undefined): void {
  gaugeAtScrape(
    registry,
    {
      name: 'fairlead_agent_certificate_expiry_timestamp_seconds',
      help: 'When the certificate of this agent ends; it is renewed at two thirds of its life.',
    },
    (gauge) => {
      const ms = endMs();
      if (ms !== undefined) gauge.set(ms / 1_000);
    },
  );
}

export type AgentMetrics = ReturnType<typeof createAgentMetrics>;
