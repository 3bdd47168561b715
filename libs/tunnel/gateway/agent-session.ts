import type { Http2Session, ServerHttp2Stream } from 'node:http2';
import { FairleadError } from '@fairlead/errors';
import type { ControlResponse } from '@fairlead/proto';
import { LIMITS } from '../core/index.js';
import { acceptGrpcStream, rejectGrpcStream } from '../link/index.js';

/** Parked tunnels one agent may leave with us; more are refused. */
const MAX_PARKED = 64;
const GRPC_RESOURCE_EXHAUSTED = 8;
/** How long a link that may be a leftover has to answer a ping. */
const ANSWER_TIMEOUT_MS = 2_000;

export interface SessionFacts {
  readonly sessionId: string;
  readonly tenantId: string;
  readonly clusterId: string;
  readonly generation: number;
  readonly agentInstance: string;
  /** Which of that process's links. */
  readonly link: number;
  readonly remoteAddress: string;
  readonly connectedAtMs: number;
}

interface Waiter {
  give(stream: ServerHttp2Stream): void;
  fail(error: FairleadError): void;
}

/** A parked tunnel and what watches it until it is used. */
interface Parked {
  readonly stream: ServerHttp2Stream;
  readonly unwatch: () => void;
}

type ControlMessage = ControlResponse['message'];

/** One agent's link to this replica: its parked tunnels, and what is to be said to it. */
export class AgentSession {
  readonly facts: SessionFacts;
  /** The connection this link is. */
  readonly http2: Http2Session;
  readonly #parked = new Set<Parked>();
  readonly #waiters = new Set<Waiter>();
  readonly #outbox: ControlMessage[] = [];
  #wantedTunnels = 0;
  #wakeOutbox: (() => void) | null = null;
  #inFlight = 0;
  #draining = false;
  #closed = false;

  constructor(facts: SessionFacts, http2: Http2Session) {
    this.facts = facts;
    this.http2 = http2;
    http2.once('close', () => this.close());
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get parked(): number {
    return this.#parked.size;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** A Tunnel call of this agent arrived: keep it for an Open, or hand it to who waits for one. */
  park(stream: ServerHttp2Stream): void {
    if (this.#closed || this.#parked.size >= MAX_PARKED) {
      rejectGrpcStream(stream, GRPC_RESOURCE_EXHAUSTED, 'too many parked tunnels');
      return;
    }
    // Cancelled before we came to it.
    if (stream.destroyed || stream.closed) return;
    acceptGrpcStream(stream);
    const [waiter] = this.#waiters;
    if (waiter) {
      this.#waiters.delete(waiter);
      waiter.give(this.#use(stream));
      return;
    }
    this.#watchParked(stream);
  }

  /** A parked tunnel says nothing. Reading it is how we notice that it is gone. */
  #watchParked(stream: ServerHttp2Stream): void {
    const onData = (): void => void stream.destroy(new Error('a parked tunnel must be silent'));
    // Half of it is gone: no use as a tunnel any more.
    const onEnd = (): void => void stream.destroy();
    const onClose = (): void => void this.#parked.delete(parked);
    const unwatch = (): void => {
      this.#parked.delete(parked);
      stream.off('data', onData);
      stream.off('end', onEnd);
      stream.off('close', onClose);
      stream.pause();
    };
    const parked: Parked = { stream, unwatch };
    stream.on('data', onData);
    stream.on('end', onEnd);
    stream.on('close', onClose);
    this.#parked.add(parked);
  }

  /**
   * A tunnel for one Open. Waits for the agent to park one if there is none: AGENT_OVERLOADED when too many wait,
   * NO_SESSION when the link ends meanwhile, DRAINING when the agent was told to park nothing here, or the signal's reason.
   */
  take(signal: AbortSignal): Promise<ServerHttp2Stream> {
    if (this.#closed) return Promise.reject(ended());
    for (const { stream, unwatch } of this.#parked) {
      unwatch();
      if (!stream.destroyed && !stream.closed) return Promise.resolve(this.#use(stream));
    }
    if (this.#draining) return Promise.reject(leaving());
    if (this.#waiters.size >= LIMITS.waitingOpens) {
      return Promise.reject(
        new FairleadError('AGENT_OVERLOADED', 'too many connections wait for a tunnel of this agent'),
      );
    }
    return this.#wait(signal);
  }

  #wait(signal: AbortSignal): Promise<ServerHttp2Stream> {
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
      this.askForTunnel();
    });
  }

  #use(stream: ServerHttp2Stream): ServerHttp2Stream {
    this.#inFlight += 1;
    stream.once('close', () => {
      this.#inFlight -= 1;
    });
    return stream;
  }

  /** Asks the agent to park one more tunnel. Questions that it did not take yet become one. */
  askForTunnel(): void {
    this.#wantedTunnels = Math.min(this.#wantedTunnels + 1, LIMITS.waitingOpens);
    this.#wakeOutbox?.();
  }

  /** Queues a message to the agent. Only what is said a fixed number of times in a link's life goes here. */
  say(message: ControlMessage): void {
    this.#outbox.push(message);
    this.#wakeOutbox?.();
  }

  /** Tells the agent to link elsewhere. It parks nothing here any more, so nobody is to wait for it. */
  drain(deadlineMs: number): void {
    this.#draining = true;
    for (const waiter of this.#waiters) waiter.fail(leaving());
    this.say({ case: 'drain', value: { $typeName: 'fairlead.link.v1.Drain', deadlineMs } });
  }

  /** What is to be sent on the Control call, until the session ends. */
  async *messages(): AsyncGenerator<ControlMessage> {
    while (!this.#closed) {
      const message = this.#outbox.shift() ?? this.#takeQuestion();
      if (message) yield message;
      else await new Promise<void>((resolve) => (this.#wakeOutbox = resolve));
    }
  }

  #takeQuestion(): ControlMessage | undefined {
    const count = this.#wantedTunnels;
    this.#wantedTunnels = 0;
    if (count === 0) return undefined;
    return { case: 'openTunnels', value: { $typeName: 'fairlead.link.v1.OpenTunnels', count } };
  }

  /** Ends the session soon, unless its peer answers a ping. */
  endUnlessAnswering(): void {
    const timer = setTimeout(() => this.close(), ANSWER_TIMEOUT_MS);
    timer.unref();
    this.http2.ping((error) => {
      if (!error) clearTimeout(timer);
    });
  }

  /** Ends the session and its HTTP/2 connection, with every tunnel on it. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const waiter of this.#waiters) waiter.fail(ended());
    this.#wakeOutbox?.();
    if (!this.http2.destroyed) this.http2.destroy();
  }
}

function ended(): FairleadError {
  return new FairleadError('NO_SESSION', 'the link of this agent ended');
}

function leaving(): FairleadError {
  return new FairleadError('DRAINING', 'this replica is shutting down, and its agents park nothing here any more');
}
