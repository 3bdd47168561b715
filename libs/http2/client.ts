import type { TLSSocket } from 'node:tls';
import type { SessionOptions } from './options.js';
import { Http2Session } from './session.js';

/** A session on a TLS connection whose handshake is over, and whose peer is known to be the right one. */
export function connectHttp2(socket: TLSSocket, options: SessionOptions): Http2Session {
  return new Http2Session(socket, 'client', options);
}
