import { FairleadError } from '@fairlead/errors';
import type { Http2Stream } from '@fairlead/http2';
import { acceptGrpcStream, failGrpcStream } from '@fairlead/tunnel/link';

export interface CallLimits {
  /** Calls of one session that are not over. */
  readonly maxCalls: number;
  /** Bytes that came of their requests, of all of them together. */
  readonly maxHeldBytes: number;
}

/** What came of one request. */
export interface HeldBytes {
  /** False for bytes that are too many, which are not counted. */
  readonly mayHold: (bytes: number) => boolean;
  readonly giveBack: () => void;
}

/**
 * The calls of one session that are not over. A message that has begun is held where no window counts it, so what all of
 * them hold has a bound of its own.
 */
export class SessionCalls {
  readonly #limits: CallLimits;
  #open = 0;
  #heldBytes = 0;

  constructor(limits: CallLimits) {
    this.#limits = limits;
  }

  /** Counts a call until its stream is gone. False, and it is refused with RATE_LIMITED, for one too many. */
  admit(stream: Http2Stream): boolean {
    if (this.#open >= this.#limits.maxCalls) {
      failGrpcStream(acceptGrpcStream(stream), new FairleadError('RATE_LIMITED', 'too many calls are open at once'));
      return false;
    }
    this.#open += 1;
    stream.onceClosed(() => (this.#open -= 1));
    return true;
  }

  /** Counts what comes of a request until its stream is gone, or it is given back as what came is not held any more. */
  holdFor(stream: Http2Stream): HeldBytes {
    let held = 0;
    const giveBack = (): void => {
      this.#heldBytes -= held;
      held = 0;
    };
    stream.onceClosed(giveBack);
    const mayHold = (bytes: number): boolean => {
      if (this.#heldBytes + bytes > this.#limits.maxHeldBytes) return false;
      held += bytes;
      this.#heldBytes += bytes;
      return true;
    };
    return { mayHold, giveBack };
  }
}
