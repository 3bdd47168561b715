import { Duplex } from 'node:stream';

/** A Duplex that node:http takes for a socket: what it sets on one has no meaning here, and is ignored. */
export class SocketLike extends Duplex {
  setKeepAlive(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setTimeout(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}
