import { Counter, Gauge, Histogram, LiveCounter, Registry } from '@fairlead/observability';
import { CONNECT_RESULTS } from '../passage/connect-result.js';
import { DOORS, DOOR_NAMES, type DoorName } from '../passage/door-table.js';

const OPEN_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

const ADDED_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** What a replica counts. Labels are bounded: never a cluster name or a user. */
export function createGatewayMetrics(registry: Registry) {
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[] = []): Counter<Label> =>
    new Counter({ name, help, labelNames, registers });
  const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers });
  return {
    tunnels: counter(
      'fairlead_gateway_tunnels_total',
      'Tunnels asked for by doors, by the way taken and the outcome (ok or an error code).',
      ['via', 'outcome'],
    ),
    relayedTunnels: counter(
      'fairlead_gateway_relayed_tunnels_total',
      'Tunnels between replicas: "out" from a door here to an agent elsewhere, "in" from another replica to an agent here.',
      ['direction'],
    ),
    relayedBytes: new LiveCounter({
      name: 'fairlead_gateway_relayed_bytes_total',
      help: 'Bytes spliced for other replicas, as framed on the wire, counted while they go; forward is towards the agent.',
      label: 'direction',
      registry,
    }),
    relayedOpen: gauge('fairlead_gateway_relayed_open_tunnels', 'Tunnels that are spliced for other replicas now.'),
    sessions: gauge('fairlead_gateway_agent_sessions', 'Agent links held by this replica.'),
    sessionsEnded: sessionsEnded(registers),
    passages: passageCounters(registers),
    connects: connectCounter(registers),
    addedSeconds: addedSeconds(registers),
    refusals: counter(
      'fairlead_gateway_refusals_total',
      'What a door refused, or could not get an answer for, by code.',
      ['door', 'code'],
    ),
    openSeconds: new Histogram({
      name: 'fairlead_gateway_open_seconds',
      help: 'How long it took until a target was there: a tunnel was found, and the agent had dialled.',
      labelNames: ['target', 'via'],
      buckets: OPEN_SECONDS,
      registers,
    }),
    pendingOpens: gauge('fairlead_gateway_pending_opens', 'Tunnels asked for by doors that are not answered yet.'),
    accessEnded: counter(
      'fairlead_gateway_access_ended_total',
      'Connections broken off because whoever they belong to may not have them any more.',
      ['door', 'code'],
    ),
    http2Abuse: counter(
      'fairlead_gateway_http2_abuse_total',
      'HTTP/2 sessions that were ended for what their peer did, by port and reason.',
      ['door', 'reason'],
    ),
    trustVersion: gauge(
      'fairlead_gateway_trust_version',
      'Version of the trust bundle that this replica verifies agents, clients and replicas by; 0: none yet.',
    ),
    trustRefused: counter(
      'fairlead_gateway_trust_refused_total',
      'Trust bundles that were refused, by reason: invalid, older, conflicting.',
      ['reason'],
    ),
    installerReports: counter(
      'fairlead_gateway_installer_reports_total',
      'Reports of installers, by outcome: ok, rate-limited, too-large, invalid, other-cluster, refused, forgotten.',
      ['outcome'],
    ),
    bundlePieces: counter(
      'fairlead_gateway_bundle_pieces_total',
      'Pieces of install manifests that agents asked for, by outcome (ok or an error code).',
      ['outcome'],
    ),
    enrolments: counter('fairlead_gateway_enrolments_total', 'Enrolments carried to registration, by outcome.', [
      'outcome',
    ]),
  };
}

export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>;

/** All series from the beginning: what appears at 1 has not increased, for Prometheus. */
function connectCounter(registers: Registry[]): Counter<'door' | 'result'> {
  const counter = new Counter({
    name: 'fairlead_gateway_connects_total',
    help: 'What became of each attempt to get through a door: ok once it has its target or the beginning of an answer; failed by us; offline, refused, target, left.',
    labelNames: ['door', 'result'],
    registers,
  });
  for (const door of DOOR_NAMES) for (const result of CONNECT_RESULTS) counter.inc({ door, result }, 0);
  return counter;
}

function addedSeconds(registers: Registry[]): Histogram<'via'> {
  const seconds = new Histogram({
    name: 'fairlead_gateway_added_seconds',
    help: 'From the arrival of a request at the Kubernetes API door to the beginning of its answer, less what the agent waited for its kube-apiserver.',
    labelNames: ['via'],
    buckets: ADDED_SECONDS,
    registers,
  });
  for (const via of ['own', 'relay'] as const) seconds.zero({ via });
  return seconds;
}

function sessionsEnded(registers: Registry[]): Counter<'lived'> {
  const counter = new Counter({
    name: 'fairlead_gateway_agent_sessions_ended_total',
    help: 'Agent links that ended, by how long they lived: brief is less than a minute.',
    labelNames: ['lived'],
    registers,
  });
  for (const lived of ['brief', 'long'] as const) counter.inc({ lived }, 0);
  return counter;
}

/** What became of each passage, by door. */
function passageCounters(registers: Registry[]): Readonly<Record<DoorName, Counter<'outcome'>>> {
  const counterOf = (door: DoorName): Counter<'outcome'> =>
    new Counter({ ...DOORS[door].counter, labelNames: ['outcome'], registers });
  return Object.fromEntries(DOOR_NAMES.map((door) => [door, counterOf(door)])) as Record<DoorName, Counter<'outcome'>>;
}
