import { messageOf, type FairleadError } from '@fairlead/errors';
import { RateLimitedLog } from '@fairlead/limits';
import type { LogFields, Logger, Span } from '@fairlead/observability';
import { limitKey } from '../limits/limit-key.js';
import type { AuditTrail } from '../audit/audit-trail.js';
import type { GatewayEvents, StreamEvent } from '../reporting/gateway-events.js';
import type { GatewayMetrics } from '../status/gateway-metrics.js';
import type { TunnelWay } from '@fairlead/tunnel/gateway';
import { notConnected } from './connect-result.js';
import { DOORS, type DoorName } from './door-table.js';
import { AdministratorWatch } from './administrator-watch.js';
import { causeOf, clusterIdOf, isRefusal, type Asked, type Identity, type Outcome } from './outcome.js';

export interface RecorderOptions {
  readonly events: GatewayEvents;
  readonly metrics: GatewayMetrics;
  readonly audit: AuditTrail;
  readonly logger: Logger;
}

/** The one place where log, metrics, span, events and audit records are made, for passages of one door, of their outcome alone. */
export class OutcomeRecorder {
  readonly #options: RecorderOptions;
  /** A peer can cause refusals as fast as the network carries them. */
  readonly #refusedLines = new RateLimitedLog();
  readonly #administrators: AdministratorWatch;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#administrators = new AdministratorWatch(options);
  }

  record(outcome: Outcome, span: Span): void {
    this.#count(outcome);
    this.#log(outcome);
    endSpan(span, outcome);
    this.#tell(outcome);
    this.#options.audit.outcome(outcome);
  }

  /** The way in when all else is away is not to be used unseen. */
  identified(door: DoorName, identity: Identity, address: string, asked: Asked): void {
    this.#administrators.used(door, identity, address, asked);
  }

  /** Who came to this door has got what it asked for; of the time that this took, so much was ours. */
  connected(door: DoorName, via: TunnelWay['via'], addedMs: number | undefined): void {
    const { connects, addedSeconds } = this.#options.metrics;
    connects.inc({ door, result: 'ok' });
    if (addedMs !== undefined) addedSeconds.observe({ via }, addedMs / 1_000);
  }

  /** What may change something, before anything of it goes on; undefined: nothing has to be waited for. AUDIT_UNAVAILABLE. */
  intent(outcome: Outcome): Promise<void> | undefined {
    return this.#options.audit.intent(outcome);
  }

  /** What goes on as a connection, when it begins to. */
  established(outcome: Outcome): void {
    this.#tellStream(outcome, 'opened');
  }

  #count(outcome: Outcome): void {
    const { door, ending } = outcome;
    const { passages, refusals, connects } = this.#options.metrics;
    const result = notConnected(outcome);
    if (result) connects.inc({ door, result });
    passages[door].inc({ outcome: labelOf(ending) });
    if (ending.kind === 'failed') refusals.inc({ door, code: ending.failure.code });
  }

  #log(outcome: Outcome): void {
    const { door, ending } = outcome;
    const { logger } = this.#options;
    if (ending.kind !== 'failed') {
      logger.info(DOORS[door].ended, fieldsOf(outcome));
      return;
    }
    const { failure, hop } = ending;
    const line = this.#refusedLines.next(causeOfLine(outcome));
    if (!line) return;
    const detail = failure.code === 'INTERNAL' ? { detail: messageOf(failure.cause) } : {};
    const told = { ...fieldsOf(outcome), hop, reason: failure.message, ...detail, ...line };
    logger.log(failure.kind.logLevel, DOORS[door].refused, told);
  }

  #tellStream(outcome: Outcome, phase: StreamEvent['phase']): void {
    const event = streamEventOf(outcome, phase);
    if (event) this.#options.events.stream(event);
  }

  /** Whoever was refused, before it was let in or when its access ended. */
  #tell(outcome: Outcome): void {
    this.#tellStream(outcome, outcome.established ? 'ended' : 'refused');
    const refusal = refusalIn(outcome.ending);
    if (!refusal || !isRefusal(refusal)) return;
    const { door, address, tenantId, cluster, asked, identity, grounds } = outcome;
    const { code, message } = refusal;
    this.#options.events.accessRefused({
      code,
      reason: message,
      address,
      door,
      tenantId,
      clusterId: clusterIdOf(outcome),
      cluster: cluster?.name ?? asked.cluster,
      user: identity && userOf(identity),
      method: asked.method,
      grantIds: told(grounds?.grantIds) ?? [],
    });
  }
}

function streamEventOf(outcome: Outcome, phase: StreamEvent['phase']): StreamEvent | undefined {
  const { asked, cluster, identity, ending } = outcome;
  const clusterId = cluster?.clusterId ?? asked.clusterId;
  if (!asked.stream || clusterId === undefined || !identity) return undefined;
  return {
    phase,
    streamId: outcome.requestId,
    tenantId: identity.tenantId,
    clusterId,
    user: identity.name,
    address: outcome.address,
    stream: asked.stream,
    grantIds: told(outcome.grounds?.grantIds) ?? [],
    as: outcome.grounds?.as ?? '',
    asGroups: outcome.grounds?.asGroups ?? [],
    // What the cluster itself refuses has no code of ours.
    reason: phase === 'opened' ? 'OK' : ending.kind === 'answered' ? `HTTP_${ending.status}` : causeOf(ending),
    status: ending.status ?? 0,
    atDoor: outcome.decision === 'refused',
    bytesUp: outcome.bytesUp,
    bytesDown: outcome.bytesDown,
    durationMs: Math.round(outcome.durationMs),
  };
}

function refusalIn(ending: Outcome['ending']): FairleadError | undefined {
  if (ending.kind === 'failed') return ending.failure;
  return ending.kind === 'carried' ? ending.endedBy : undefined;
}

/** Of metrics: a status class, `ok` for a connection that was established, or a code. */
function labelOf(ending: Outcome['ending']): string {
  if (ending.kind === 'answered') return `${Math.floor(ending.status / 100)}xx`;
  if (ending.kind === 'failed') return ending.failure.code;
  // One that switched protocols is a request like any other: its status class is 1xx.
  return ending.status === 101 ? '1xx' : 'ok';
}

/** The same fields for every door; what does not apply is left out. */
function fieldsOf(outcome: Outcome): LogFields {
  const { traceId, requestId, address, identity, tenantId, grounds, cluster, asked, way, dialled, ending } = outcome;
  const { target } = asked;
  return {
    traceId,
    requestId,
    method: asked.method,
    route: asked.route,
    address,
    ...(identity && identityFields(identity)),
    grantIds: told(grounds?.grantIds),
    as: grounds?.as,
    tenantId,
    clusterId: clusterIdOf(outcome),
    cluster: cluster?.name,
    target: target && `${target.host}:${target.port}`,
    dialled,
    ...way,
    status: ending.status,
    cause: causeOf(ending),
    bytesUp: outcome.bytesUp,
    bytesDown: outcome.bytesDown,
    openMs: outcome.openMs === undefined ? undefined : Math.round(outcome.openMs),
    durationMs: Math.round(outcome.durationMs),
  };
}

function identityFields({ kind, id, name, proof }: Identity): LogFields {
  const proved = proof.kind === 'token' ? { tokenId: proof.id, tokenKind: proof.of } : { serial: proof.id };
  if (kind === 'user') return { user: name, ...proved };
  // An agent is known by its cluster.
  return kind === 'client' ? { clientId: id, client: name, ...proved } : proved;
}

/** A line is for people: of hundreds of grants some are enough. */
const MAX_TOLD_GRANTS = 8;

function told(grantIds: readonly string[] = []): readonly string[] | undefined {
  return grantIds.length === 0 ? undefined : grantIds.slice(0, MAX_TOLD_GRANTS);
}

function causeOfLine({ address, identity }: Outcome): Parameters<RateLimitedLog['next']>[0] {
  if (!identity) return { address };
  const { kind, id, tenantId } = identity;
  return kind === 'agent' ? { address, clusterId: id } : { address, user: limitKey(tenantId, id) };
}

/** As events name who was refused; an agent is its cluster there. */
function userOf({ kind, name }: Identity): string | undefined {
  if (kind === 'agent') return undefined;
  return kind === 'client' ? `client:${name}` : name;
}

/** No user stands in it: the trace id of a log line finds the user. */
function endSpan(span: Span, outcome: Outcome): void {
  if (!span.recording) return;
  const { tenantId, asked, way, ending } = outcome;
  const bytes = outcome.decision === 'allowed' ? { up: outcome.bytesUp, down: outcome.bytesDown } : undefined;
  const cause = causeOf(ending);
  span.set({
    'http.route': asked.route,
    'server.address': asked.target?.host,
    'server.port': asked.target?.port,
    'http.response.status_code': ending.status,
    'fairlead.tenant.id': tenantId,
    'fairlead.cluster.id': clusterIdOf(outcome),
    'fairlead.tunnel.id': way?.tunnelId,
    'fairlead.via': way?.via,
    'fairlead.replica': way?.replica,
    'fairlead.bytes.up': bytes?.up,
    'fairlead.bytes.down': bytes?.down,
    'fairlead.outcome': cause,
  });
  if (ending.kind === 'answered' && ending.status >= 500) span.end(String(ending.status));
  else span.end(cause === 'COMPLETE' ? undefined : cause);
}
