import { SessionError } from './errors.js';
import type { Guard } from './guard.js';
import { HeaderAssembly, type HeaderBlock } from './header-block.js';
import { readRequest, readResponse, readTrailers, type RequestHead } from './header-rules.js';
import { HpackDecoder, HpackError, type HeaderField } from './hpack/index.js';
import type { SessionOptions } from './options.js';
import type { StreamTable } from './stream-table.js';
import type { Http2Stream } from './stream.js';
import { CODE, FLAG, FRAME } from './wire/constants.js';
import type { FrameSink } from './wire/frame-reader.js';

/** What the reading end of a session does to it. */
export interface IncomingHost {
  readonly role: 'client' | 'server';
  readonly options: SessionOptions;
  readonly guard: Guard;
  readonly streams: StreamTable;
  readonly closed: boolean;
  acceptStream(id: number, head: RequestHead): void;
  refuseStream(id: number, code: number): void;
  receivedOnConnection(bytes: number): boolean;
  discarded(bytes: number): void;
  onSettings(payload: Buffer): void;
  onWindowUpdate(streamId: number, bytes: number): void;
  onPing(opaque: Buffer, ack: boolean): void;
  onGoaway(lastStreamId: number): void;
}

/**
 * What a peer's frames mean, and whether they are allowed now (RFC 9113, sections 5 and 6). Throws SessionError where the
 * connection has to end; where only a stream has to, it is reset and the peer's budget of such mistakes goes down.
 */
export class Incoming implements FrameSink {
  readonly #host: IncomingHost;
  readonly #assembly = new HeaderAssembly();
  readonly #hpack: HpackDecoder;
  #greeted = false;
  /** Of the DATA frame that is coming: whose it is, and how much it carries. */
  #dataStream: Http2Stream | undefined;
  #dataBytes = 0;

  constructor(host: IncomingHost) {
    this.#host = host;
    this.#hpack = new HpackDecoder(host.options.headers);
  }

  onDataBegin(streamId: number, length: number, padding: number): void {
    this.#expect(FRAME.data);
    const { streams, guard } = this.#host;
    if (streamId === 0 || streams.isIdle(streamId)) throw broken('DATA on a stream that does not exist');
    if (!this.#host.receivedOnConnection(length)) throw flooded();
    const stream = streams.get(streamId);
    this.#dataBytes = length - padding;
    this.#dataStream = stream && !stream.ended ? stream : undefined;
    if (stream?.ended) {
      stream.cancel(CODE.streamClosed);
      guard.count('invalidFrames');
    }
    if (!this.#dataStream) return this.#host.discarded(length);
    if (!this.#dataStream.received(length)) throw flooded();
    if (padding > 0) this.#dataStream.taken(padding);
  }

  onDataPiece(piece: Buffer): void {
    const stream = this.#dataStream;
    // It may have been reset in the middle of a frame, and has accounted for the whole frame then.
    if (stream && !stream.closed) stream.deliver(piece);
  }

  onDataEnd(endStream: boolean): void {
    if (endStream) this.#dataStream?.deliverEnd([]);
    else if (this.#dataBytes === 0) this.#host.guard.count('invalidFrames');
    this.#dataStream = undefined;
  }

  onFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    this.#expect(type, flags);
    switch (type) {
      case FRAME.headers:
        return this.#onBlock(this.#assembly.begin(streamId, flags, payload));
      case FRAME.continuation:
        return this.#onBlock(this.#assembly.continue(streamId, flags, payload));
      case FRAME.rstStream:
        return this.#onReset(streamId, payload);
      case FRAME.settings:
        return this.#onSettings(flags, streamId, payload);
      case FRAME.ping:
        return this.#onPing(flags, streamId, payload);
      case FRAME.goaway:
        return this.#onGoaway(streamId, payload);
      case FRAME.windowUpdate:
        return this.#onWindowUpdate(streamId, payload);
      case FRAME.pushPromise:
        throw broken('a push, which was not allowed');
      default:
        // PRIORITY, and what we do not know, is ignored.
        return undefined;
    }
  }

  #expect(type: number, flags = 0): void {
    const isFirst = !this.#greeted;
    this.#greeted = true;
    if (isFirst && (type !== FRAME.settings || flags & FLAG.ack)) throw broken('something before its SETTINGS');
    if (this.#assembly.isOpen && type !== FRAME.continuation) throw broken('a frame in the middle of a header block');
  }

  #onBlock(block: HeaderBlock | null): void {
    if (!block) return;
    const { streams, guard } = this.#host;
    const { streamId } = block;
    if (streamId === 0) throw broken('HEADERS on stream 0');
    const fields = this.#decode(block.bytes);
    const stream = streams.get(streamId);
    if (fields === null) {
      guard.count('largeHeaders');
      if (stream) stream.cancel(CODE.enhanceYourCalm);
      else this.#skip(streamId, CODE.enhanceYourCalm);
      return;
    }
    if (stream) this.#onMoreHeaders(stream, fields, block.endStream);
    else if (streams.isIdle(streamId)) this.#onRequest(streamId, fields, block.endStream);
    // Else it is of a stream that we have reset.
  }

  #decode(bytes: Buffer): readonly HeaderField[] | null {
    try {
      const block = this.#hpack.decode(bytes);
      return block.kind === 'fields' ? block.fields : null;
    } catch (error) {
      if (!(error instanceof HpackError)) throw error;
      throw new SessionError(CODE.compressionError, error.message);
    }
  }

  #onRequest(streamId: number, fields: readonly HeaderField[], endStream: boolean): void {
    const { role, streams, guard, options, closed } = this.#host;
    if (role === 'client' || !streams.peerBegins(streamId))
      throw broken('a stream with a number that is not its to use');
    const head = readRequest(fields);
    if (!head) {
      guard.count('invalidFrames');
      this.#host.refuseStream(streamId, CODE.protocolError);
    } else if (closed) {
      this.#host.refuseStream(streamId, CODE.refusedStream);
    } else if (streams.openByPeer >= options.maxConcurrentStreams) {
      guard.count('refusedStreams');
      this.#host.refuseStream(streamId, CODE.refusedStream);
    } else {
      this.#host.acceptStream(streamId, head);
      if (endStream) streams.get(streamId)?.deliverEnd([]);
    }
  }

  /** The answer's head, or trailers. */
  #onMoreHeaders(stream: Http2Stream, fields: readonly HeaderField[], endStream: boolean): void {
    const head = this.#host.role === 'client' && !stream.answered ? readResponse(fields) : null;
    const trailers = head ? [] : endStream ? readTrailers(fields) : null;
    if (stream.ended || (!head && !trailers)) {
      this.#host.guard.count('invalidFrames');
      stream.cancel(CODE.protocolError);
      return;
    }
    if (head) stream.deliverResponse(head);
    if (endStream) stream.deliverEnd(trailers && trailers.length > 0 ? trailers : (head?.fields ?? []));
  }

  /** A request that is not even looked at. */
  #skip(streamId: number, code: number): void {
    const { streams } = this.#host;
    if (!streams.isIdle(streamId)) return;
    if (!streams.peerBegins(streamId)) throw broken('a stream with a number that is not its to use');
    this.#host.refuseStream(streamId, code);
  }

  #onReset(streamId: number, payload: Buffer): void {
    if (payload.length !== 4) throw sized('RST_STREAM');
    if (streamId === 0 || this.#host.streams.isIdle(streamId)) throw broken('RST_STREAM of nothing');
    this.#host.guard.count('resets');
    this.#host.streams.get(streamId)?.close(payload.readUInt32BE(0));
  }

  #onSettings(flags: number, streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw broken('SETTINGS on a stream');
    this.#host.guard.count('settings');
    if (flags & FLAG.ack) {
      if (payload.length > 0) throw sized('an answer to SETTINGS');
      return;
    }
    this.#host.onSettings(payload);
  }

  #onPing(flags: number, streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw broken('PING on a stream');
    if (payload.length !== 8) throw sized('PING');
    const ack = (flags & FLAG.ack) !== 0;
    if (!ack) this.#host.guard.count('pings');
    this.#host.onPing(payload, ack);
  }

  #onGoaway(streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw broken('GOAWAY on a stream');
    if (payload.length < 8) throw sized('GOAWAY');
    this.#host.onGoaway(payload.readUInt32BE(0) & 0x7fff_ffff);
  }

  #onWindowUpdate(streamId: number, payload: Buffer): void {
    if (payload.length !== 4) throw sized('WINDOW_UPDATE');
    const bytes = payload.readUInt32BE(0) & 0x7fff_ffff;
    if (bytes === 0) throw broken('WINDOW_UPDATE by nothing');
    if (streamId !== 0 && this.#host.streams.isIdle(streamId)) throw broken('WINDOW_UPDATE of nothing');
    this.#host.onWindowUpdate(streamId, bytes);
  }
}

function broken(what: string): SessionError {
  return new SessionError(CODE.protocolError, `the peer sent ${what}`);
}

function sized(what: string): SessionError {
  return new SessionError(CODE.frameSizeError, `the peer sent ${what} of a wrong size`);
}

function flooded(): SessionError {
  return new SessionError(CODE.flowControlError, 'the peer sent more than its window');
}
