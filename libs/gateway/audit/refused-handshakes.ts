import type { Server, TLSSocket } from 'node:tls';
import { systemClock, type Clock } from '@fairlead/clock';
import { NO_TENANT, type HandshakesRefused } from '@fairlead/contracts';
import { BoundedMap, clientAddressOf, type ConnectionEnds } from '@fairlead/limits';

/** How long they are added up. */
const SUM_MS = 10_000;
/** Doors times reasons; what OpenSSL has more of is OTHER. */
const MAX_SUMS = 64;
/** Of one sum; the addresses beyond are in its count alone. */
const MAX_ADDRESSES = 64;
const TOLD_ADDRESSES = 10;

interface Sum {
  readonly door: string;
  readonly cause: string;
  readonly sinceMs: number;
  count: number;
  readonly addresses: BoundedMap<string, number>;
}

/**
 * Connections that ended in their handshake, which anybody can cause as fast as the network carries them: the audit has how many there were, exactly, by door and reason, and those addresses
 * that came first and most. Memory is bounded. What cannot be kept now is added to what comes next.
 */
export class RefusedHandshakes {
  readonly #keep: (record: HandshakesRefused) => boolean;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #sums = new Map<string, Sum>();
  #timer: NodeJS.Timeout | undefined;

  /** `keep`: false if there is no room now. */
  constructor(keep: (record: HandshakesRefused) => boolean, clock: Pick<Clock, 'nowMs'> = systemClock) {
    this.#keep = keep;
    this.#clock = clock;
  }

  add(door: string, cause: string, address: string): void {
    const sum = this.#sumOf(door, cause);
    sum.count += 1;
    // Not known any more.
    if (address !== '') sum.addresses.set(address, (sum.addresses.get(address) ?? 0) + 1);
    this.#timer ??= setTimeout(() => this.tell(), SUM_MS).unref();
  }

  /** Writes down what was counted so far. */
  tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const [key, sum] of this.#sums) if (this.#keep(this.#recordOf(sum))) this.#sums.delete(key);
    if (this.#sums.size > 0) this.#timer = setTimeout(() => this.tell(), SUM_MS).unref();
  }

  #sumOf(door: string, cause: string): Sum {
    const isFull = this.#sums.size >= MAX_SUMS && !this.#sums.has(`${door} ${cause}`);
    const told = isFull ? 'OTHER' : cause;
    const key = `${door} ${told}`;
    const known = this.#sums.get(key);
    if (known) return known;
    const addresses = new BoundedMap<string, number>({ max: MAX_ADDRESSES, overflow: 'refuse' });
    const sum: Sum = { door, cause: told, sinceMs: this.#clock.nowMs(), count: 0, addresses };
    this.#sums.set(key, sum);
    return sum;
  }

  #recordOf({ door, cause, sinceMs, count, addresses }: Sum): HandshakesRefused {
    const most = [...addresses].toSorted(([, one], [, other]) => other - one).slice(0, TOLD_ADDRESSES);
    return {
      phase: 'handshakes',
      at: new Date(sinceMs).toISOString(),
      until: new Date(this.#clock.nowMs()).toISOString(),
      tenantId: NO_TENANT,
      door,
      cause: cause.slice(0, 64),
      count,
      addresses: most.map(([address, times]) => ({ address: address.slice(0, 64), count: times })),
    };
  }
}

/** Of all that are refused at a door. To be called before it listens. */
export function noteRefusedHandshakes(server: Server, audit: Noted, door: string): void {
  server.on('tlsClientError', (error, socket) => void noteRefusedHandshake(audit, door, error, socket));
}

type Noted = { handshake(door: string, cause: string, address: string): void };

/** One that only broke off was not refused: false. */
export function noteRefusedHandshake(
  audit: Noted,
  door: string,
  error: NodeJS.ErrnoException,
  socket: TLSSocket,
): boolean {
  const cause = refusalIn(error, socket);
  if (cause === null) return false;
  audit.handshake(door, cause, refusedAddressOf(socket));
  return true;
}

/**
 * Who was refused in a handshake. Of a TLS socket that it ended itself, as for a certificate of a strange authority, Node (24.21) has forgotten the ends; of the TCP
 * socket below it has not, as somebody asked while it was open.
 */
export function refusedAddressOf(socket: TLSSocket & { readonly _parent?: ConnectionEnds }): string {
  const address = clientAddressOf(socket);
  return address === '' && socket._parent ? clientAddressOf(socket._parent) : address;
}

function refusalIn(error: NodeJS.ErrnoException, socket: TLSSocket): string | null {
  // Node has a code there, whatever its types say.
  if (socket.authorizationError) return String(socket.authorizationError);
  return /^ERR_(SSL|TLS)_/.test(error.code ?? '') ? (error.code ?? null) : null;
}
