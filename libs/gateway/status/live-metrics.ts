import { Counter, Gauge, type Registry } from '@fairlead/observability';
import type { AgentSession, SessionRegistry } from '@fairlead/tunnel/gateway';
import { ClusterLabels, OTHER } from './cluster-labels.js';
import type { Directory } from '../directory.js';
import { DOOR_NAMES } from '../passage/door-table.js';
import type { LiveConnection, LiveConnections } from '../passage/live-connections.js';

export interface MeterOptions {
  readonly registry: Registry;
  readonly live: LiveConnections;
  readonly sessions: SessionRegistry;
  readonly directory: Directory;
  /** Clusters with a label of their own; the others are "other". */
  readonly namedClusters: number;
}

/** Metrics that are read off what is alive whenever somebody scrapes, so that nothing is counted per byte. */
export function meterConnections(options: MeterOptions): void {
  const labels = new ClusterLabels(options.namedClusters);
  meterBytes(options, labels);
  meterOpen(options, labels);
  meterLinks(options, labels);
}

/** How often the busiest clusters are chosen anew. A series that changes hands begins at nought. */
const RANK_MS = 600_000;

const DIRECTIONS = ['up', 'down'] as const;

/** Counts while a connection runs, and what is left when it ends. */
function meterBytes({ registry, live, directory }: MeterOptions, labels: ClusterLabels): void {
  const counted = new WeakMap<LiveConnection, { up: number; down: number }>();
  const settle = (connection: LiveConnection): void => {
    const before = counted.get(connection) ?? { up: 0, down: 0 };
    const now = { up: connection.bytesUp(), down: connection.bytesDown() };
    counted.set(connection, now);
    // One that was deleted has no label any more.
    const exists = directory.clusterById(connection.clusterId) !== undefined;
    const cluster = exists ? labels.labelOf(connection.clusterId) : OTHER;
    for (const direction of DIRECTIONS) {
      const more = now[direction] - before[direction];
      if (exists) labels.note(connection.clusterId, more);
      byDoor.inc({ door: connection.door, direction }, more);
      byCluster.inc({ cluster, direction }, more);
    }
  };
  const unlabel = (clusterId: string): void => {
    for (const direction of DIRECTIONS) byCluster.remove({ cluster: clusterId, direction });
  };
  let rankedMs = performance.now();
  const settleAll = (): void => {
    for (const connection of live) settle(connection);
    if (performance.now() - rankedMs < RANK_MS) return;
    rankedMs = performance.now();
    labels.rank().forEach(unlabel);
  };
  directory.onClusterChange((clusterId) => {
    if (!directory.clusterById(clusterId) && labels.forget(clusterId)) unlabel(clusterId);
  });
  live.onEnd(settle);
  const byDoor = new Counter({
    name: 'fairlead_gateway_bytes_total',
    help: 'Payload through the doors, counted while it goes; up is towards the cluster.',
    labelNames: ['door', 'direction'],
    registers: [registry],
    collect: settleAll,
  });
  const byCluster = new Counter({
    name: 'fairlead_gateway_cluster_bytes_total',
    help: 'The same by cluster id; clusters other than the busiest are "other".',
    labelNames: ['cluster', 'direction'],
    registers: [registry],
    collect: settleAll,
  });
}

function meterOpen({ registry, live }: MeterOptions, labels: ClusterLabels): void {
  sumGauge(registry, {
    name: 'fairlead_gateway_open_connections',
    help: 'Of each door, what goes through it now: requests at the Kubernetes API door, elsewhere connections that have their target.',
    label: 'door',
    always: DOOR_NAMES,
    parts: () => [...live].map(({ door }) => [door, 1]),
  });
  sumGauge(registry, {
    name: 'fairlead_gateway_cluster_open_connections',
    help: 'The same by cluster id; clusters other than the busiest are "other".',
    label: 'cluster',
    parts: () => [...live].map(({ clusterId }) => [labels.labelOf(clusterId), 1]),
  });
  sumGauge(registry, {
    name: 'fairlead_gateway_held_bytes',
    help: 'Taken in by the doors and not passed on yet.',
    label: 'door',
    always: DOOR_NAMES,
    parts: () => [...live].map((each) => [each.door, each.heldBytes()]),
  });
}

const LINK_FIGURES: readonly [string, string, (session: AgentSession) => number][] = [
  ['links', 'Agent links held by this replica, by cluster id.', () => 1],
  ['tunnels_in_use', 'Tunnels of agent links that carry a connection, by cluster id.', ({ inFlight }) => inFlight],
  ['tunnels_parked', 'Tunnels of agent links that wait to be used, by cluster id.', ({ parked }) => parked],
  ['link_queued_bytes', 'Bytes that wait to be sent to agents, by cluster id.', ({ http2 }) => http2.queuedBytes],
  [
    'link_send_window_bytes',
    'What agents let be sent to them at this moment, by cluster id.',
    ({ http2 }) => http2.connectionSendWindow,
  ],
];

function meterLinks({ registry, sessions }: MeterOptions, labels: ClusterLabels): void {
  for (const [name, help, figureOf] of LINK_FIGURES) {
    sumGauge(registry, {
      name: `fairlead_gateway_cluster_${name}`,
      help,
      label: 'cluster',
      parts: () => {
        const alive = sessions.all().filter(({ closed }) => !closed);
        return alive.map((session) => [labels.labelOf(session.facts.clusterId), figureOf(session)]);
      },
    });
  }
}

interface SumGauge {
  readonly name: string;
  readonly help: string;
  readonly label: string;
  /** Label values that are shown even at nought. */
  readonly always?: readonly string[];
  readonly parts: () => readonly (readonly [string, number])[];
}

/** Shows sums by one label at each scrape, and forgets those of the last one. The registry keeps it. */
function sumGauge(registry: Registry, { name, help, label, always = [], parts }: SumGauge): Gauge {
  return new Gauge({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      const sums = new Map<string, number>(always.map((value) => [value, 0]));
      for (const [value, part] of parts()) sums.set(value, (sums.get(value) ?? 0) + part);
      this.reset();
      for (const [value, sum] of sums) this.set({ [label]: value }, sum);
    },
  });
}
