import type { Rate } from '@fairlead/limits';
import type { HeaderLimits } from './hpack/index.js';
import type { WindowGrowth } from './window-growth.js';

/** What one session gives its peer, and what it takes from it. */
export interface SessionOptions {
  /** Streams the peer may have open at once. */
  readonly maxConcurrentStreams: number;
  /** Window of each stream until `setStreamWindow` says otherwise. */
  readonly streamWindowBytes: number;
  /** Absent: windows stay as they are set. */
  readonly growth?: WindowGrowth;
  readonly headers: HeaderLimits;
  readonly abuse: AbuseLimits;
}

/**
 * What a peer may send that has not shown who it is, for which a session asks before it looks at anything. False: too much, and the session ends.
 * What there is of it may be shared with other sessions.
 */
export interface Allowance {
  /** So many bytes were read at once. */
  readonly mayRead: (bytes: number) => boolean;
  /** A frame began, of whatever kind. */
  readonly mayBeginFrame: () => boolean;
}

/** More than any of these ends the session. */
export interface AbuseLimits {
  /** Streams that the peer begins, whatever becomes of them: each may be over before the next one comes. */
  readonly requests: Rate;
  readonly pings: Rate;
  readonly settings: Rate;
  /** RST_STREAM (CVE-2023-44487). */
  readonly resets: Rate;
  /** Streams refused for headers beyond the limits. */
  readonly largeHeaders: Rate;
  /** Malformed requests, and DATA that carries nothing and ends nothing. */
  readonly invalidFrames: Rate;
  /** Streams beyond `maxConcurrentStreams`, or after the peer's own GOAWAY. */
  readonly refusedStreams: Rate;
  /** WINDOW_UPDATE beyond ten for each DATA frame that we sent (CVE-2019-9511 and Envoy's ratio). */
  readonly windowUpdates: Rate;
  /** What costs only the reading: PRIORITY, types that nobody knows, answers that nobody asked for, frames of streams that are gone. */
  readonly ignoredFrames: Rate;
}

/** In a session's whole life. */
const ever = (burst: number): Rate => ({ burst, perSecond: 0 });

/** Far above what an honest peer does; some gRPC implementations ping once per round trip while they receive. */
export const DEFAULT_ABUSE_LIMITS: AbuseLimits = {
  requests: { burst: 5_000, perSecond: 5_000 },
  pings: { burst: 1_000, perSecond: 200 },
  settings: { burst: 100, perSecond: 10 },
  resets: { burst: 1_000, perSecond: 100 },
  largeHeaders: { burst: 200, perSecond: 50 },
  invalidFrames: ever(1_000),
  refusedStreams: ever(100),
  windowUpdates: { burst: 10_000, perSecond: 2_000 },
  ignoredFrames: { burst: 20_000, perSecond: 2_000 },
};
