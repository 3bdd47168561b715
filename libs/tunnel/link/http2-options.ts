import { DEFAULT_ABUSE_LIMITS, type SessionOptions } from '@fairlead/http2';
import { LIMITS } from '../core/index.js';

/** Options of every HTTP/2 session that carries tunnels, at both ends. */
export const TUNNEL_SESSION_OPTIONS: SessionOptions = {
  maxConcurrentStreams: LIMITS.tunnelsPerLink + 16,
  streamWindowBytes: LIMITS.minStreamWindowBytes,
  growth: {
    busyMs: 8,
    maxStreamBytes: LIMITS.maxGrownWindowBytes,
    maxUnprovenStreamBytes: LIMITS.unprovenWindowBytes,
    maxSessionBytes: LIMITS.grownBytesPerSession,
    provenBytes: LIMITS.provenReaderBytes,
    maxProvenBytes: LIMITS.provenBytesPerSession,
  },
  /** A gRPC call has six headers. */
  headers: { maxListBytes: 16 * 1024, maxFields: 64 },
  abuse: {
    ...DEFAULT_ABUSE_LIMITS,
    /** A tunnel is one stream: all of a link's at once, four times, and more in a second than any link has carried. */
    requests: { burst: 4 * LIMITS.tunnelsPerLink, perSecond: 10_000 },
    /**
     * A tunnel ends with RST_STREAM only if the other end does not take its end within the linger of 2 s, so no agent
     * comes near one per tunnel and second, even if all its targets break off at once.
     */
    resets: { burst: 2 * LIMITS.tunnelsPerLink, perSecond: LIMITS.tunnelsPerLink },
  },
};

/** Between replicas, one session carries the tunnels of every cluster; all of them may be cancelled at once. */
export const RELAY_SESSION_OPTIONS: SessionOptions = {
  ...TUNNEL_SESSION_OPTIONS,
  maxConcurrentStreams: LIMITS.tunnelsPerRelay,
  abuse: {
    ...TUNNEL_SESSION_OPTIONS.abuse,
    requests: { burst: LIMITS.tunnelsPerRelay, perSecond: 20_000 },
    resets: { burst: LIMITS.tunnelsPerRelay, perSecond: 2_000 },
    /** A path whose round trip changes gives each open stream another window, and each stream that was cancelled may have had some. */
    windowUpdates: { burst: 2 * LIMITS.tunnelsPerRelay, perSecond: 20_000 },
    ignoredFrames: { burst: 2 * LIMITS.tunnelsPerRelay, perSecond: 20_000 },
  },
};
