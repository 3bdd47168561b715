import { Counter, Gauge, Histogram, LiveCounter, Registry } from '@fairlead/observability';
import { DOORS, DOOR_NAMES, type DoorName } from '../passage/door-table.js';

const OPEN_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

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
    sessionsEnded: counter('fairlead_gateway_agent_sessions_ended_total', 'Agent links that ended.'),
    passages: passageCounters(registers),
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

/** What became of each passage, by door. */
function passageCounters(registers: Registry[]): Readonly<Record<DoorName, Counter<'outcome'>>> {
  const counterOf = (door: DoorName): Counter<'outcome'> =>
    new Counter({ ...DOORS[door].counter, labelNames: ['outcome'], registers });
  return Object.fromEntries(DOOR_NAMES.map((door) => [door, counterOf(door)])) as Record<DoorName, Counter<'outcome'>>;
}
