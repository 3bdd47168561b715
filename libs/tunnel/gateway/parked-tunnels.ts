import { FairleadError } from '@fairlead/errors';
import { HTTP2_CODE, type Http2Stream } from '@fairlead/http2';
import { LIMITS, SpareTunnels } from '../core/index.js';
import { acceptGrpcStream, endStream, rejectGrpcStream } from '../link/index.js';

/** Parked tunnels one agent may leave with us; more are refused. */
const MAX_PARKED = 64;
const GRPC_RESOURCE_EXHAUSTED = 8;
const CALM_MS = 10_000;

interface Waiter {
  give(stream: Http2Stream): void;
  fail(error: FairleadError): void;
}

/** A parked tunnel and what watches it until it is used. */
interface Parked {
  readonly stream: Http2Stream;
  readonly unwatch: () => void;
}

/**
 * The tunnels that one agent left parked here, and who waits for one. As many are kept ready as demand asks for; what
 * is too much when it grows calm again is let go from this end, where it is known that no Open is under way.
 */
export class ParkedTunnels {
  readonly #parked = new Set<Parked>();
  readonly #waiters = new Set<Waiter>();
  readonly #spare = new SpareTunnels();
  readonly #ask: (count: number) => void;
  #calm: NodeJS.Timeout | null = null;
  #inUse = 0;
  #draining = false;
  #closed = false;

  /** `ask` tells the agent to park that many more. */
  constructor(ask: (count: number) => void) {
    this.#ask = ask;
  }

  get size(): number {
    return this.#parked.size;
  }

  /** Those that were taken and are not over. */
  get inUse(): number {
    return this.#inUse;
  }

  /** A Tunnel call of the agent arrived: keep it for an Open, or hand it to who waits for one. */
  park(stream: Http2Stream): void {
    if (this.#closed || this.#parked.size >= MAX_PARKED) {
      rejectGrpcStream(stream, GRPC_RESOURCE_EXHAUSTED, 'too many parked tunnels');
      return;
    }
    this.#spare.arrived();
    // Cancelled before we came to it.
    if (stream.closed) return;
    acceptGrpcStream(stream);
    const [waiter] = this.#waiters;
    if (waiter) waiter.give(this.#use(stream));
    else this.#watch(stream);
  }

  /**
   * A tunnel for one Open. Waits for the agent to park one if there is none: AGENT_OVERLOADED when too many wait,
   * NO_SESSION when the link ends meanwhile, DRAINING when the agent was told to park nothing here, or the signal's reason.
   */
  take(signal: AbortSignal): Promise<Http2Stream> {
    if (this.#closed) return Promise.reject(ended());
    for (const { stream, unwatch } of this.#parked) {
      unwatch();
      if (stream.closed) continue;
      this.#request(this.#spare.used(this.#parked.size));
      return Promise.resolve(this.#use(stream));
    }
    if (this.#draining) return Promise.reject(leaving());
    if (this.#waiters.size >= LIMITS.waitingOpens) {
      const why = 'too many connections wait for a tunnel of this agent';
      return Promise.reject(new FairleadError('AGENT_OVERLOADED', why));
    }
    return this.#wait(signal);
  }

  /** The agent parks nothing here any more: nobody is to wait for it. What is parked can still be used. */
  drain(): void {
    this.#draining = true;
    for (const waiter of this.#waiters) waiter.fail(leaving());
  }

  /** Those that wait are told; what is parked ends with its session. */
  close(): void {
    this.#closed = true;
    if (this.#calm) clearInterval(this.#calm);
    for (const waiter of this.#waiters) waiter.fail(ended());
  }

  /** A parked tunnel says nothing. Reading it is how we notice that it is gone. */
  #watch(stream: Http2Stream): void {
    const unwatch = (): void => {
      this.#parked.delete(parked);
      stream.detach();
    };
    const parked: Parked = { stream, unwatch };
    this.#parked.add(parked);
    stream.attach({
      onData: () => stream.cancel(HTTP2_CODE.protocolError),
      // Half of it is gone: no use as a tunnel any more.
      onEnd: () => stream.cancel(),
      onDrain: () => undefined,
      onClose: () => void this.#parked.delete(parked),
    });
  }

  #wait(signal: AbortSignal): Promise<Http2Stream> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        this.#waiters.delete(waiter);
        signal.removeEventListener('abort', onAbort);
      };
      const onAbort = (): void => {
        settle();
        reject(signal.reason as Error);
      };
      const waiter: Waiter = {
        give: (stream) => {
          settle();
          resolve(stream);
        },
        fail: (error) => {
          settle();
          reject(error);
        },
      };
      if (signal.aborted) {
        onAbort();
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
      this.#request(this.#spare.missed(this.#parked.size));
    });
  }

  #use(stream: Http2Stream): Http2Stream {
    this.#inUse += 1;
    stream.onceClosed(() => (this.#inUse -= 1));
    return stream;
  }

  #request(count: number): void {
    if (count === 0) return;
    this.#ask(count);
    this.#calm ??= setInterval(() => this.#letGo(), CALM_MS).unref();
  }

  #letGo(): void {
    const surplus = this.#spare.calm(this.#parked.size);
    for (const { stream, unwatch } of [...this.#parked].slice(0, surplus)) {
      unwatch();
      endStream(stream);
    }
    if (this.#spare.desired > 1 || !this.#calm) return;
    clearInterval(this.#calm);
    this.#calm = null;
  }
}

function ended(): FairleadError {
  return new FairleadError('NO_SESSION', 'the link of this agent ended');
}

function leaving(): FairleadError {
  return new FairleadError(
    'DRAINING',
    'this link is being left, or its replica shuts down: its agent parks nothing here any more',
  );
}
