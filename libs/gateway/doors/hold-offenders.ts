import { constants } from 'node:crypto';
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls';
import {
  KeyedRateLimit,
  NetworkConcurrencyLimit,
  clientAddressOf,
  networkOf,
  readNoMore,
  type NetworkConcurrencyLimits,
} from '@fairlead/limits';
import { refusedAddressOf } from '../audit/refused-handshakes.js';
import { holdMs } from './hold.js';

/** So many of a network TLS refuses by itself and at once, as anybody expects: a program that has no certificate, or an old one, and tries again is not more. */
const REFUSED_AT_ONCE = { burst: 10, perSecond: 1 };
const MOST_HELD = { total: 1_024, perNetwork: 256 };
/** What OpenSSL calls them. */
export const NO_CERTIFICATE = 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE';
export const NO_PROTOCOL = 'ERR_SSL_NO_APPLICATION_PROTOCOL';

export interface OffenderOptions {
  /** What the server speaks, by its name for ALPN (RFC 7301). */
  readonly protocol: string;
  /** For a handshake. */
  readonly timeoutMs: number;
  /** What an offender is told, in the words of the door's protocol. */
  readonly answer: string;
  /** Of connections that have shown no identity, how many there may be: half of these are held at most, but no more than 1,024, and 256 of a network. Who comes beyond is closed unheard. */
  readonly unauthenticated: NetworkConcurrencyLimits;
}

/** `cause`: a code of OpenSSL's verification, or what Node calls an error of its handshake. `address`: whose it was. */
type OnRefused = (cause: string, address: string) => void;

/**
 * Holds those of a TLS server that show no certificate of ours (`requestCert`, `rejectUnauthorized`) and come again and again. TLS ends a connection as it refuses it,
 * so that a hundred peers dial five hundred times a second, and everybody else waits for their handshakes. Of a network that had more refused than a few, handshakes
 * are ended by a second TLS server behind the same port, which asks for a certificate and lets go on without: who shows a good one goes on as anybody does, and is no
 * later for it. The others are told, and stay for some seconds, neither read nor ended. To be made before anybody else hears of the server's connections.
 */
export class HeldOffenders {
  readonly #lenient: Server;
  readonly #options: OffenderOptions;
  readonly #refused = new KeyedRateLimit(REFUSED_AT_ONCE);
  readonly #held: NetworkConcurrencyLimit;
  #onRefused: OnRefused = () => undefined;

  constructor(server: Server, options: OffenderOptions) {
    const { protocol, timeoutMs } = options;
    this.#options = options;
    this.#held = new NetworkConcurrencyLimit(halfOf(options.unauthenticated));
    this.#lenient = createServer({
      minVersion: 'TLSv1.3',
      requestCert: true,
      rejectUnauthorized: false,
      ALPNCallback: ({ protocols }) => (protocols.includes(protocol) ? protocol : protocols[0]),
      handshakeTimeout: timeoutMs,
    });
    const strict = server.listeners('connection') as ((socket: unknown) => void)[];
    server.removeAllListeners('connection');
    server.on('connection', (socket) => {
      if (this.#isCrowded(clientAddressOf(socket))) this.#lenient.emit('connection', socket);
      else for (const listener of strict) listener.call(server, socket);
    });
    this.#lenient.on('tlsClientError', (error, socket) => void server.emit('tlsClientError', error, socket));
    this.#lenient.on('secureConnection', (socket) => {
      const cause = this.#refusalOf(socket);
      if (cause === null) server.emit('secureConnection', socket);
      else this.#hold(cause, socket);
    });
  }

  /** Like that of the server. */
  setSecureContext(context: SecureContextOptions): void {
    this.#lenient.setSecureContext({ ...context, secureOptions: constants.SSL_OP_NO_TICKET });
  }

  /** Of each that is held. */
  onRefused(listener: OnRefused): void {
    this.#onRefused = listener;
  }

  /** TLS refused a handshake of this address. */
  note(address: string): void {
    this.#refused.take(networkOf(address), performance.now());
  }

  #isCrowded(address: string): boolean {
    return this.#refused.waitMs(networkOf(address), performance.now()) > 0;
  }

  /** What the server would have refused it for; null: nothing. */
  #refusalOf(socket: TLSSocket): string | null {
    if (socket.alpnProtocol !== false && socket.alpnProtocol !== this.#options.protocol) return NO_PROTOCOL;
    // Not left to `authorized`: a session that is resumed may have none, and stands for what it was. None is resumed here.
    if (!socket.getPeerX509Certificate()) return NO_CERTIFICATE;
    return socket.authorized ? null : String(socket.authorizationError);
  }

  #hold(cause: string, socket: TLSSocket): void {
    socket.on('error', () => undefined);
    const address = refusedAddressOf(socket);
    this.#onRefused(cause, address);
    const giveBack = this.#held.take(address);
    if (!giveBack) {
      socket.destroy();
      return;
    }
    readNoMore(socket);
    if (cause !== NO_PROTOCOL) socket.write(this.#options.answer);
    const end = setTimeout(() => socket.destroy(), holdMs()).unref();
    socket.once('close', () => {
      clearTimeout(end);
      giveBack();
    });
  }
}

/** The other half is for who may be somebody, and has not shown it yet. */
function halfOf({ total, perNetwork }: NetworkConcurrencyLimits): NetworkConcurrencyLimits {
  return {
    total: Math.min(MOST_HELD.total, Math.floor(total / 2)),
    perNetwork: Math.min(MOST_HELD.perNetwork, Math.floor(perNetwork / 2)),
  };
}
