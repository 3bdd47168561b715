import type { ServerHttp2Session, ServerSessionOptions } from 'node:http2';
import { TokenBucket, type Rate, type RateLimitedLog, clientAddressOf } from '@fairlead/limits';
import type { Logger } from '@fairlead/observability';
import type { GatewayMetrics } from '../status/gateway-metrics.js';

/**
 * What Node and nghttp2 see to by themselves, said once and not left to defaults. Each ends the session that does it,
 * and only that one (Node 24.21, nghttp2 1.70, tried by conformance/abuse.int.spec.ts):
 * more than eight CONTINUATION frames in a row, more than a thousand answers to PING or SETTINGS that wait to be sent,
 * and these:
 */
const COMMON: ServerSessionOptions = {
  /** Entries in one SETTINGS frame. */
  maxSettings: 32,
  maxOutstandingPings: 10,
  /** Streams beyond maxConcurrentStreams, in a session's life. */
  maxSessionRejectedStreams: 100,
  /** Frames that break HTTP/2, empty DATA without an end among them, in a session's life. */
  maxSessionInvalidFrames: 1_000,
};

const resets = ({ burst, perSecond }: Rate): ServerSessionOptions => ({
  ...COMMON,
  streamResetBurst: burst,
  streamResetRate: perSecond,
});

/** Clients of the Kubernetes API end their watches with RST_STREAM: all of a connection's at once, four times. */
export const DOOR_ABUSE_OPTIONS: ServerSessionOptions = {
  ...resets({ burst: 1_000, perSecond: 100 }),
  maxHeaderListPairs: 512,
};

/** Some gRPC implementations ping once per round trip while they receive. */
const PINGS: Rate = { burst: 1_000, perSecond: 200 };
const SETTINGS: Rate = { burst: 100, perSecond: 10 };
/** Streams that Node refused for their headers before we saw them. */
const UNSEEN: Rate = { burst: 200, perSecond: 50 };
const CHECK_UNSEEN_MS = 1_000;

/** By what Node calls what it ended a session for. */
const NODE_REASONS: Readonly<Record<string, string>> = {
  ERR_HTTP2_TOO_MANY_INVALID_FRAMES: 'invalid-frames',
  ERR_HTTP2_ERROR: 'protocol',
};

export interface SessionGuardOptions {
  readonly door: 'kube-api';
  readonly metrics: GatewayMetrics;
  readonly logger: Logger;
  /** Called once. */
  readonly end: (session: ServerHttp2Session) => void;
  /** Of all sessions of the server: who comes anew at once must not fill the log. */
  readonly abuseLines: RateLimitedLog;
}

/**
 * Ends a session (GOAWAY with ENHANCE_YOUR_CALM) that sends more PING or SETTINGS, or more requests with headers beyond
 * all limits, than any honest peer: Node answers these for ever. Also counts what Node ended itself. To be called once
 * per session of a server, when it begins.
 */
export function guardSession(session: ServerHttp2Session, options: SessionGuardOptions): void {
  const address = clientAddressOf(session.socket);
  const abused = (reason: string): void => reportDoorAbuse(options, reason, address);
  let isEnded = false;
  const end = (reason: string): void => {
    if (isEnded || session.destroyed) return;
    isEnded = true;
    abused(reason);
    options.end(session);
  };
  session.on('error', (error: NodeJS.ErrnoException) => {
    const reason = NODE_REASONS[error.code ?? ''];
    if (reason !== undefined) abused(reason);
  });
  limitControlFrames(session, end);
  limitUnseenStreams(session, end);
}

/** Counts and tells that a connection was ended for what its peer did. */
export function reportDoorAbuse(options: Omit<SessionGuardOptions, 'end'>, reason: string, address: string): void {
  const { door, metrics, logger, abuseLines } = options;
  metrics.http2Abuse.inc({ door, reason });
  const line = abuseLines.next({ address });
  if (line) logger.warn('http2.session.abused', { door, reason, address, ...line });
}

type End = (reason: string) => void;

function limitControlFrames(session: ServerHttp2Session, end: End): void {
  const pings = new TokenBucket(PINGS, performance.now());
  const settings = new TokenBucket(SETTINGS, performance.now());
  session.on('ping', () => {
    if (!pings.take(performance.now())) end('ping-flood');
  });
  session.on('remoteSettings', () => {
    if (!settings.take(performance.now())) end('settings-flood');
  });
}

/**
 * A stream whose headers are too many or too large (a few bytes can stand for megabytes) is refused inside Node, without
 * an event and without an end. That the numbers of streams went up by more than came to us is how it shows.
 */
function limitUnseenStreams(session: ServerHttp2Session, end: End): void {
  const bucket = new TokenBucket(UNSEEN, performance.now());
  let seen = 0;
  let unseen = 0;
  session.on('stream', () => (seen += 1));
  const timer = setInterval(() => {
    if (session.destroyed) return;
    const all = Math.ceil((session.state.lastProcStreamID ?? 0) / 2);
    const fresh = Math.max(0, all - seen - unseen);
    unseen += fresh;
    if (fresh > 0 && !bucket.take(performance.now(), fresh)) end('header-flood');
  }, CHECK_UNSEEN_MS).unref();
  session.once('close', () => clearInterval(timer));
}
