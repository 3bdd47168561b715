import type { Rate } from '@fairlead/clock';
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

/** More than any of these ends the session. */
export interface AbuseLimits {
  readonly pings: Rate;
  readonly settings: Rate;
  /** RST_STREAM (CVE-2023-44487). */
  readonly resets: Rate;
  /** Streams refused for headers beyond the limits. */
  readonly largeHeaders: Rate;
  /** Malformed requests, and DATA that carries nothing and ends nothing. */
  readonly invalidFrames: Rate;
  /** Streams beyond `maxConcurrentStreams`. */
  readonly refusedStreams: Rate;
}

/** In a session's whole life. */
const ever = (burst: number): Rate => ({ burst, perSecond: 0 });

/** Far above what an honest peer does; some gRPC implementations ping once per round trip while they receive. */
export const DEFAULT_ABUSE_LIMITS: AbuseLimits = {
  pings: { burst: 1_000, perSecond: 200 },
  settings: { burst: 100, perSecond: 10 },
  resets: { burst: 1_000, perSecond: 100 },
  largeHeaders: { burst: 200, perSecond: 50 },
  invalidFrames: ever(1_000),
  refusedStreams: ever(100),
};
