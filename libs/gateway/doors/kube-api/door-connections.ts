import type { Http2SecureServer, Http2ServerRequest, Http2Session, ServerHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { ConnectionEnds } from '@fairlead/limits';
import { keepAlive, type Pinged } from '@fairlead/tunnel/link';
import type { DoorRequest } from './door-request.js';
import { LINGER_MS } from './request-rest.js';

/** A connection without any request for this long is closed: 10,000 of them would close the door for everybody. */
const IDLE_MS = 120_000;
/** The first TCP probe on a silent HTTP/1.1 connection; the kernel then gives up within minutes on a peer that is gone. */
const TCP_KEEPALIVE_MS = 30_000;

/** What a session does not tell any more once it has ended. */
interface ConnectionFacts {
  readonly ends: ConnectionEnds;
  readonly serverName: string | undefined;
}

const facts = new WeakMap<Http2Session, ConnectionFacts>();

/** What the door does with its connections, whatever is asked on them. */
export function tendConnections(server: Http2SecureServer): void {
  server.on('secureConnection', (socket: TLSSocket) => void socket.setKeepAlive(true, TCP_KEEPALIVE_MS));
  server.on('session', (session: ServerHttp2Session) => {
    const { remoteAddress, remotePort, localAddress, localPort } = session.socket;
    const ends = { remoteAddress, remotePort, localAddress, localPort };
    facts.set(session, { ends, serverName: nameOf(session.socket as TLSSocket) });
    session.on('error', () => session.destroy());
    keepAlive(pinged(session));
    closeWhenIdle(session);
  });
}

/** Where a client is; nothing is known if its connection ended already. */
export function diallerOf(incoming: DoorRequest): ConnectionEnds {
  if (incoming.httpVersionMajor < 2) return incoming.socket;
  return factsOf(incoming)?.ends ?? {};
}

/** The host name that a client opened its connection for (SNI), if it sent one. */
export function serverNameOf(incoming: DoorRequest): string | undefined {
  if (incoming.httpVersionMajor < 2) return nameOf(incoming.socket as TLSSocket);
  return factsOf(incoming)?.serverName;
}

function factsOf(incoming: DoorRequest): ConnectionFacts | undefined {
  const { session } = (incoming as Http2ServerRequest).stream;
  return session && facts.get(session);
}

/** Node says null or false where none was sent; its types know only the second. */
function nameOf({ servername }: { readonly servername?: string | false | null }): string | undefined {
  return servername || undefined;
}

function pinged(session: ServerHttp2Session): Pinged {
  const socket = session.socket;
  return {
    get destroyed() {
      // One that closes gently cannot ping any more.
      return session.destroyed || session.closed;
    },
    get bytesRead() {
      return session.destroyed ? 0 : socket.bytesRead;
    },
    ping: () => new Promise((resolve) => session.ping((error, ms) => resolve(error ? null : ms))),
    destroy: (cause) => session.destroy(cause),
    once: (event, listener) => session.once(event, listener),
  };
}

function closeWhenIdle(session: ServerHttp2Session): void {
  let streams = 0;
  let timer: NodeJS.Timeout | undefined;
  const close = (): void => {
    session.close();
    // Gently, it waits for as long as anything is to be sent to a client that takes nothing.
    timer = setTimeout(() => session.destroy(), LINGER_MS).unref();
  };
  const arm = (): void => {
    clearTimeout(timer);
    if (streams === 0) timer = setTimeout(close, IDLE_MS).unref();
  };
  session.on('stream', (stream) => {
    streams += 1;
    arm();
    stream.once('close', () => {
      streams -= 1;
      arm();
    });
  });
  session.once('close', () => clearTimeout(timer));
  arm();
}
