import type { Allowance } from '@fairlead/http2';
import { KeyedRateLimit, TokenBucket, networkOf, type Rate } from '@fairlead/limits';

/** Of one connection: bytes, frames and reads while it has not shown who it is. Discover, Enrol and Renew take some thirty frames and 30 KiB. */
const CONNECTION = { bytes: 4 * 1024 * 1024, frames: 4_000 };
/** Reads beyond the frames that they bring. A frame of 16 KiB in records as small as Go's first ones comes in fourteen. */
const PIECES = { most: 128, perFrame: 2 };
/** Calls of one connection, however soon each is over. */
const CALLS: Rate = { burst: 512, perSecond: 4 };
/** Of one network: who is ended comes back. Whatever is behind one address has this, and agents that show a certificate have not to share it. */
const NETWORK = {
  bytes: { burst: 64 * 1024 * 1024, perSecond: 4 * 1024 * 1024 },
  frames: { burst: 32_000, perSecond: 4_000 },
  calls: { burst: 1_024, perSecond: 64 },
} as const satisfies Record<string, Rate>;

/** What one connection may do until it has shown who it is. */
export interface UnauthenticatedBudget extends Allowance {
  /** One more call; false for one too many. */
  readonly mayCall: () => boolean;
}

/**
 * What peers without a certificate that counts may send at the agents' port: of each connection and of each network (IPv6: a /64), in bytes, in
 * frames of any kind and in calls. What it remembers is bounded: of networks beyond 10,000 the one heard of longest ago is forgotten.
 */
export class UnauthenticatedBudgets {
  readonly #bytes = new KeyedRateLimit(NETWORK.bytes);
  readonly #frames = new KeyedRateLimit(NETWORK.frames);
  readonly #calls = new KeyedRateLimit(NETWORK.calls);
  readonly #nowMs: () => number;

  /** `nowMs`: of a clock that never goes back. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  of(address: string): UnauthenticatedBudget {
    const network = networkOf(address);
    const calls = new TokenBucket(CALLS, this.#nowMs());
    let { bytes, frames } = CONNECTION;
    let pieces = PIECES.most;
    const takeFrame = (): boolean => {
      frames -= 1;
      return frames >= 0 && this.#frames.take(network, this.#nowMs());
    };
    return {
      mayBeginFrame: () => {
        pieces = Math.min(PIECES.most, pieces + PIECES.perFrame);
        return takeFrame();
      },
      mayRead: (count) => {
        bytes -= count;
        pieces -= 1;
        // A read costs as much as a frame, however little it brings.
        return bytes >= 0 && pieces >= 0 && takeFrame() && this.#bytes.take(network, this.#nowMs(), count);
      },
      mayCall: () => calls.take(this.#nowMs()) && this.#calls.take(network, this.#nowMs()),
    };
  }
}
