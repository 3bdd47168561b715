import type { Server, Socket } from 'node:net';
import { clientAddressOf } from './balancers/client-address.js';
import { networkOf } from './network-of.js';
import type { ReturningOffenders } from './returning-offenders.js';

/** Handshakes begun in one turn of the event loop. Those under way go on in each turn, so their number stays small. */
const PER_TURN = 4;
/**
 * So many turns in a row connections that come are only taken in, and no handshake begins. Node takes one from the kernel in each turn (libuv's pull request
 * 3696): if a handshake began with each, a crowd would wait in the kernel, where nothing counts but who came first.
 */
const TAKING_IN_TURNS = 16;
/** Who dialled gives up after 10 s: a handshake that begins later than this is work for nobody. */
const MAX_WAIT_MS = 8_000;
/** Between two handshakes of those that are taken for offenders who come back. */
const OFFENDER_GAP_MS = 20;
/** Who was taken for one waits no longer for that: it may be somebody honest behind the same address. */
const OFFENDER_WAIT_MS = 2_000;

export interface AdmitOptions {
  /** Who waited longer is closed, unheard. */
  readonly maxWaitMs?: number;
  /** Absent: nobody is told apart. */
  readonly offenders?: ReturningOffenders;
}

interface Waiting {
  readonly socket: Socket;
  readonly network: string;
  readonly sinceMs: number;
}

/**
 * Lets the connections of a TLS server begin their handshakes a few in each turn, networks (IPv6: a /64) one after the other, and of each the newest and
 * the oldest by turns: so somebody honest is not behind all of a flood from the same network, and nobody waits for ever. When thousands come back at once and all handshakes go on together, each takes longer than anybody waits, and
 * all of them were for nothing; in turn, each that begins succeeds, and what else the process does goes on between them. A peer that stalls in its
 * handshake holds up nobody. For each connection that was ended for what it did, the next one of its network begins in a slow lane, fifty a second, so
 * that who floods and dials anew costs others little; it shuts out nobody, and holds nobody up for more than two seconds. How many wait is bounded by the
 * server's `maxConnections`. To be called before anybody else hears of the server's connections.
 */
export function admitInTurn(server: Server, { maxWaitMs = MAX_WAIT_MS, offenders }: AdmitOptions = {}): void {
  const begin = server.listeners('connection') as ((socket: Socket) => void)[];
  const [queue, slowLane] = [new FairQueue(), new SlowLane()];
  /** True: its handshake has begun. */
  const admit = ({ socket, sinceMs }: Waiting): boolean => {
    if (socket.destroyed) return false;
    if (performance.now() - sinceMs > maxWaitMs) {
      socket.destroy();
      return false;
    }
    socket.off('error', ignore);
    for (const listener of begin) listener.call(server, socket);
    return true;
  };
  const beginSome = (): void => {
    for (let begun = 0; begun < PER_TURN;) {
      const next = queue.next(begun % 2 === 0 ? 'newest' : 'oldest');
      if (!next) break;
      if (admit(next)) begun += 1;
    }
    for (let begun = false; !begun && slowLane.waitMs() === 0;) {
      const next = slowLane.next();
      begun = next !== undefined && admit(next);
      if (begun) slowLane.begun();
    }
  };
  // Did one come since the last turn? And in how many turns in a row?
  let [isComing, takingIn] = [false, 0];
  const turn = (): void => {
    takingIn = isComing && takingIn < TAKING_IN_TURNS ? takingIn + 1 : 0;
    isComing = false;
    if (takingIn === 0) beginSome();
    schedule();
  };
  const loop = new Turns(turn);
  const schedule = (): void => loop.after(queue.isEmpty ? slowLane.waitMs() : 0);
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    // Nobody else listens yet, and a peer that resets its connection must not end the process.
    socket.on('error', ignore);
    isComing = true;
    const waiting = { socket, network: networkOf(clientAddressOf(socket)), sinceMs: performance.now() };
    if (offenders?.take(waiting.network)) slowLane.add(waiting);
    else queue.add(waiting);
    schedule();
  });
}

/** When the next turn is: one that was to come later comes sooner if it is asked for. */
class Turns {
  readonly #turn: () => void;
  #isNext = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(turn: () => void) {
    this.#turn = turn;
  }

  /** 0: in the next turn of the event loop. Infinity: not at all. */
  after(ms: number): void {
    if (this.#isNext || ms === Infinity) return;
    if (ms > 0) {
      this.#timer ??= setTimeout(() => this.#run(), ms);
      return;
    }
    this.#isNext = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isNext = false;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#turn();
  }
}

type Which = 'newest' | 'oldest';

/** One of each network in turn. */
class FairQueue {
  /** By network; the first one is the next to be asked. */
  readonly #waiting = new Map<string, Waiting[]>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(waiting: Waiting): void {
    const before = this.#waiting.get(waiting.network);
    if (before) before.push(waiting);
    else this.#waiting.set(waiting.network, [waiting]);
  }

  /** The oldest one of the network whose turn it is. */
  get first(): Waiting | undefined {
    return this.#waiting.values().next().value?.[0];
  }

  next(which: Which): Waiting | undefined {
    const [first] = this.#waiting;
    if (!first) return undefined;
    const [network, waiting] = first;
    const next = which === 'newest' ? waiting.pop() : waiting.shift();
    this.#waiting.delete(network);
    if (waiting.length > 0) this.#waiting.set(network, waiting);
    return next;
  }
}

/** One handshake after the other, with a pause between them, of those that have not waited long. */
class SlowLane {
  readonly #queue = new FairQueue();
  #begunAtMs = -Infinity;

  add(waiting: Waiting): void {
    this.#queue.add(waiting);
  }

  /** How long until the next one may begin; Infinity: there is none. */
  waitMs(): number {
    const { first } = this.#queue;
    if (!first) return Infinity;
    const nowMs = performance.now();
    const dueMs = Math.min(this.#begunAtMs + OFFENDER_GAP_MS, first.sinceMs + OFFENDER_WAIT_MS);
    return first.socket.destroyed ? 0 : Math.max(0, Math.ceil(dueMs - nowMs));
  }

  next(): Waiting | undefined {
    return this.#queue.next('oldest');
  }

  begun(): void {
    this.#begunAtMs = performance.now();
  }
}

function ignore(): void {
  // It closes, and is passed over.
}
