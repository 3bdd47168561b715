import { Counter, Gauge, Histogram, LiveCounter, Registry } from '@fairlead/observability';
import { DOORS, DOOR_NAMES, type DoorName } from '../passage/door-table.js';

const OPEN_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

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
    relayedBytes: new LiveCounter({
      name: 'fairlead_gateway_relayed_bytes_total',
      help: 'Bytes spliced for other replicas, as framed on the wire, counted while they go; forward is towards the agent.',
      label: 'direction',
      registry,
    }),
    relayedOpen: new Gauge({
      name: 'fairlead_gateway_relayed_open_tunnels',
      help: 'Tunnels that are spliced for other replicas now.',
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
    passages: passageCounters(registers),
    refusals: new Counter({
      name: 'fairlead_gateway_refusals_total',
      help: 'What a door refused, or could not get an answer for, by code.',
      labelNames: ['door', 'code'],
      registers,
    }),
    openSeconds: new Histogram({
      name: 'fairlead_gateway_open_seconds',
      help: 'How long it took until a target was there: a tunnel was found, and the agent had dialled.',
      labelNames: ['target', 'via'],
      buckets: OPEN_SECONDS,
      registers,
    }),
    pendingOpens: new Gauge({
      name: 'fairlead_gateway_pending_opens',
      help: 'Tunnels asked for by doors that are not answered yet.',
      registers,
    }),
    accessEnded: new Counter({
      name: 'fairlead_gateway_access_ended_total',
      help: 'Connections broken off because whoever they belong to may not have them any more.',
      labelNames: ['door', 'code'],
      registers,
    }),
    http2Abuse: new Counter({
      name: 'fairlead_gateway_http2_abuse_total',
      help: 'HTTP/2 sessions that were ended for what their peer did, by port and reason.',
      labelNames: ['door', 'reason'],
      registers,
    }),
    trustVersion: new Gauge({
      name: 'fairlead_gateway_trust_version',
      help: 'Version of the trust bundle that this replica verifies agents, clients and replicas by; 0: none yet.',
      registers,
    }),
    trustRefused: new Counter({
      name: 'fairlead_gateway_trust_refused_total',
      help: 'Trust bundles that were refused, by reason: invalid, older, conflicting.',
      labelNames: ['reason'],
      registers,
    }),
    installerReports: new Counter({
      name: 'fairlead_gateway_installer_reports_total',
      help: 'Reports of installers, by outcome: ok, rate-limited, too-large, invalid, other-cluster, refused, forgotten.',
      labelNames: ['outcome'],
      registers,
    }),
    bundlePieces: new Counter({
      name: 'fairlead_gateway_bundle_pieces_total',
      help: 'Pieces of install manifests that agents asked for, by outcome (ok or an error code).',
      labelNames: ['outcome'],
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

/** What became of each passage, by door. */
function passageCounters(registers: Registry[]): Readonly<Record<DoorName, Counter<'outcome'>>> {
  const counterOf = (door: DoorName): Counter<'outcome'> =>
    new Counter({ ...DOORS[door].counter, labelNames: ['outcome'], registers });
  return Object.fromEntries(DOOR_NAMES.map((door) => [door, counterOf(door)])) as Record<DoorName, Counter<'outcome'>>;
}
