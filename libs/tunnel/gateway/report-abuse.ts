import { HTTP2_CODE, SessionError, type Http2Session } from '@fairlead/http2';
import { clientAddressOf, type RateLimitedLog } from '@fairlead/limits';
import type { Logger } from '@fairlead/observability';
import type { AbuseMetrics } from './ports.js';

/** Discover, Enrol, Renew and Control are one call each. */
const UNAUTHENTICATED_STREAMS = 32;

export interface AbuseReportOptions {
  /** Which port the session came to. */
  readonly door: 'link' | 'relay';
  /** While it says yes, only a handful of streams may be open. */
  readonly isUnauthenticated?: () => boolean;
  readonly metrics: AbuseMetrics;
  readonly logger: Logger;
  /** Of all sessions of the server: who comes anew at once must not fill the log. */
  readonly abuseLines: RateLimitedLog;
}

/**
 * Counts and tells what sessions were ended for: breaking HTTP/2, or doing more than any honest peer. To be called once
 * per session of a server, when it begins.
 */
export function reportAbuse(session: Http2Session, options: AbuseReportOptions): void {
  const { door, isUnauthenticated, metrics, logger, abuseLines } = options;
  const address = clientAddressOf(session.socket);
  session.once('ending', (cause) => {
    if (!(cause instanceof SessionError)) return;
    const reason = cause.violation;
    metrics.http2Abuse.inc({ door, reason });
    const line = abuseLines.next({ address });
    if (line) logger.warn('http2.session.abused', { door, reason, address, ...line });
  });
  if (!isUnauthenticated) return;
  session.on('stream', (stream) => {
    if (session.streams.openByPeer <= UNAUTHENTICATED_STREAMS || !isUnauthenticated()) return;
    // RFC 9113, section 5.1.2: the answer to one too many, whatever becomes of the connection, which stays for a while.
    stream.cancel(HTTP2_CODE.refusedStream);
    const cause = new SessionError(
      HTTP2_CODE.enhanceYourCalm,
      'an unauthenticated peer holds more calls open than it can need',
      'stranger-streams',
    );
    session.destroy(cause, cause.code);
  });
}
