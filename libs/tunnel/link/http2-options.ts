import type { Http2Session, SessionOptions } from 'node:http2';
import { LIMITS } from '../core/index.js';

/**
 * Options of every HTTP/2 session that carries tunnels, at both ends. Node's defaults (64 KiB windows, 10 MB per session)
 * throttle a long path and end a session that has a few stalled streams.
 */
export const TUNNEL_SESSION_OPTIONS: SessionOptions = {
  settings: {
    initialWindowSize: LIMITS.streamWindowBytes,
    maxConcurrentStreams: LIMITS.tunnelsPerLink + 16,
    enablePush: false,
    maxHeaderListSize: 16 * 1024,
  },
  maxSessionMemory: LIMITS.sessionMemoryMegabytes,
};

/** Between replicas, one session carries the tunnels of every cluster. */
export const RELAY_SESSION_OPTIONS: SessionOptions = {
  ...TUNNEL_SESSION_OPTIONS,
  settings: { ...TUNNEL_SESSION_OPTIONS.settings, maxConcurrentStreams: LIMITS.tunnelsPerRelay },
};

/** The connection's window has no setting: it is raised once the session stands. */
export function widenConnectionWindow(session: Http2Session): void {
  const widen = (): void => session.setLocalWindowSize(LIMITS.connectionWindowBytes);
  if (session.connecting) session.once('connect', widen);
  else widen();
}
