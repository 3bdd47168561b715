import type { Server, Socket } from 'node:net';
import { clientAddressOf } from './balancers/client-address.js';
import { networkOf } from './network-of.js';
import type { ReturningOffenders } from './returning-offenders.js';

/** Handshakes begun in one turn of the event loop. Those under way go on in each turn, so their number stays small. */
const PER_TURN = 4;
/**
 * While connections keep coming they are taken in first, for no longer than this, and handshakes begin then. Node takes one from the kernel in each turn
 * (libuv's pull request 3696): if a handshake began with each, a crowd would wait in the kernel, where nothing counts but who came first.
 */
const TAKING_IN = { turns: 16, ms: 10 };
/** As many wait here at most while none begins: each may hold what it has sent already, 64 KiB and the next read. The rest waits in the kernel. */
const MOST_TAKEN_IN = 256;
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
 * the oldest by turns: so somebody honest is not behind all of a flood from the same network. When thousands come back at once and all handshakes go on
 * together, each takes longer than anybody waits, and all of them were for nothing; in turn, each that begins succeeds, and what else the process does goes
 * on between them. A peer that stalls in its handshake holds up nobody. For each connection that was ended for what it did, the next one of its network
 * begins in a slow lane, fifty a second, so that who floods and dials anew costs others little; it shuts out nobody, and holds nobody up for more than two
 * seconds. Few wait here, and the others in the kernel. To be called before anybody else hears of the server's connections.
 */
export function admitInTurn(server: Server, { maxWaitMs = MAX_WAIT_MS, offenders }: AdmitOptions = {}): void {
  const begin = server.listeners('connection') as ((socket: Socket) => void)[];
  const [queue, slowLane] = [new FairQueue('newest-and-oldest'), new SlowLane()];
  /** True: its handshake has begun. */
  const admit = (waiting: Waiting | undefined): boolean => {
    if (!waiting || waiting.socket.destroyed) return false;
    const { socket, sinceMs } = waiting;
    // Who has ended its direction without a word is a probe, or gone; TLS would not hear of it any more.
    if (socket.readableEnded || performance.now() - sinceMs > maxWaitMs) {
      socket.destroy();
      return false;
    }
    socket.off('error', ignore);
    for (const listener of begin) listener.call(server, socket);
    return true;
  };
  const takingIn = new TakingIn();
  const turn = (): void => {
    if (!takingIn.goesOn(queue.size)) {
      for (let begun = 0; begun < PER_TURN && queue.size > 0;) begun += admit(queue.next()) ? 1 : 0;
    }
    for (let begun = false; !begun && slowLane.waitMs() === 0;) {
      begun = admit(slowLane.next());
      if (begun) slowLane.begun();
    }
    schedule();
  };
  const loop = new Turns(turn);
  const schedule = (): void => loop.after(queue.size === 0 ? slowLane.waitMs() : 0);
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    // Nobody else listens yet, and a peer that resets its connection must not end the process.
    socket.on('error', ignore);
    takingIn.note();
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

/** Whether connections are only taken in. */
class TakingIn {
  #isComing = false;
  #turns = 0;
  #sinceMs = 0;

  /** One came. */
  note(): void {
    this.#isComing = true;
  }

  /** To be asked once in each turn. */
  goesOn(waiting: number): boolean {
    const nowMs = performance.now();
    if (this.#turns === 0) this.#sinceMs = nowMs;
    const isLong = this.#turns >= TAKING_IN.turns || nowMs - this.#sinceMs >= TAKING_IN.ms;
    const goesOn = this.#isComing && waiting < MOST_TAKEN_IN && !isLong;
    this.#turns = goesOn ? this.#turns + 1 : 0;
    this.#isComing = false;
    return goesOn;
  }
}

/** Those of one network, in the order they came. */
interface Crowd {
  readonly waiting: Waiting[];
  isNewestNext: boolean;
}

/** One of each network in turn: the oldest, or the newest and the oldest by turns. */
class FairQueue {
  readonly #order: 'oldest' | 'newest-and-oldest';
  /** By network; the first one is the next to be asked. */
  readonly #crowds = new Map<string, Crowd>();
  #size = 0;

  constructor(order: 'oldest' | 'newest-and-oldest') {
    this.#order = order;
  }

  get size(): number {
    return this.#size;
  }

  add(waiting: Waiting): void {
    const before = this.#crowds.get(waiting.network);
    if (before) before.waiting.push(waiting);
    else this.#crowds.set(waiting.network, { waiting: [waiting], isNewestNext: this.#order !== 'oldest' });
    this.#size += 1;
  }

  /** The oldest one of the network whose turn it is. */
  get first(): Waiting | undefined {
    return this.#crowds.values().next().value?.waiting[0];
  }

  next(): Waiting | undefined {
    const [first] = this.#crowds;
    if (!first) return undefined;
    const [network, crowd] = first;
    const next = crowd.isNewestNext ? crowd.waiting.pop() : crowd.waiting.shift();
    crowd.isNewestNext = this.#order !== 'oldest' && !crowd.isNewestNext;
    this.#crowds.delete(network);
    if (crowd.waiting.length > 0) this.#crowds.set(network, crowd);
    this.#size -= 1;
    return next;
  }
}

/** One handshake after the other, with a pause between them, of those that have not waited long. */
class SlowLane {
  readonly #queue = new FairQueue('oldest');
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
    return this.#queue.next();
  }

  begun(): void {
    this.#begunAtMs = performance.now();
  }
}

function ignore(): void {
  // It closes, and is passed over.
}
