import { createServer, type Server, type TLSSocket, type TlsOptions } from 'node:tls';
import type { SessionOptions } from './options.js';
import { Http2Session } from './session.js';

export interface Http2ServerOptions extends Omit<TlsOptions, 'ALPNProtocols' | 'minVersion' | 'allowHalfOpen'> {
  readonly session: SessionOptions;
}

/** A TLS 1.3 port that speaks HTTP/2 and nothing else. */
export class Http2Server {
  /** The port itself: to listen, for its certificate, and for connections that never became a session. */
  readonly tls: Server;
  readonly #sessions = new Set<Http2Session>();
  #closing = false;

  /** `onSession` is called when a connection has finished its handshake, before anything of it is read. */
  constructor({ session, ...options }: Http2ServerOptions, onSession: (session: Http2Session) => void) {
    this.tls = createServer({ ...options, minVersion: 'TLSv1.3', ALPNProtocols: ['h2'] });
    this.tls.on('secureConnection', (socket: TLSSocket) => {
      // Unheard, the error of a connection that breaks right now would end the process.
      socket.on('error', () => undefined);
      if (socket.alpnProtocol !== 'h2') {
        socket.destroy();
        return;
      }
      const opened = new Http2Session(socket, 'server', session);
      this.#sessions.add(opened);
      opened.once('close', () => this.#sessions.delete(opened));
      onSession(opened);
      // Its handshake was under way when we were closed.
      if (this.#closing) opened.shutdown();
    });
  }

  get sessions(): readonly Http2Session[] {
    return [...this.#sessions];
  }

  /** Stops listening, and lets those that are connected go on. Resolves when the last one is gone. */
  close(): Promise<void> {
    this.#closing = true;
    for (const session of this.#sessions) session.shutdown();
    return new Promise((resolve) => this.tls.close(() => resolve()));
  }
}
