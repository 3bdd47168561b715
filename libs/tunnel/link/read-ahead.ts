import { Duplex } from 'node:stream';
import { LIMITS } from '../core/index.js';

type Done = (error?: Error | null) => void;

/**
 * A plain connection that goes on reading while what stands on it does not. Node's http2 reads nothing while a write of
 * its own waits for the kernel; if both ends do that, a session that is full in both directions stands still for ever.
 * With one end that always reads, the other's writes always finish: so the dialling end of each link and relay has this
 * between its socket and TLS. (Between TLS and HTTP/2 it costs twice as much, one write per frame instead of one per
 * 128 KB: ADR 18.)
 *
 * What it holds meanwhile is what the peer may send: at most the connection's HTTP/2 window. It stops reading beyond
 * that, which only a peer that breaks flow control reaches.
 */
export class ReadAhead extends Duplex {
  readonly #socket: Duplex;
  #bytesRead = 0;

  constructor(socket: Duplex) {
    super({ readableHighWaterMark: LIMITS.readAheadBytes });
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#bytesRead += chunk.length;
      if (!this.push(chunk)) socket.pause();
    });
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  /** Bytes that came from the peer, whether they were taken from here yet or not. */
  get bytesRead(): number {
    return this.#bytesRead;
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: Done): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: Done): void {
    this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#socket.destroy();
    done(error);
  }
}
