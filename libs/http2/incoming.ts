import type { FlowControl } from './flow-control.js';
import type { Guard } from './guard.js';
import { HeaderAssembly, type HeaderBlock } from './header-block.js';
import { readRequest, readResponse, readTrailers, type RequestHead } from './header-rules.js';
import type { HeaderField } from './hpack/index.js';
import type { SessionOptions } from './options.js';
import type { StreamTable } from './stream-table.js';
import type { Http2Stream } from './stream.js';
import { broken, flooded, late, sized } from './errors.js';
import { CODE, FLAG, FRAME } from './wire/constants.js';
import type { FrameSink } from './wire/frame-reader.js';

/** What the reading end of a session does to it. */
export interface IncomingHost {
  readonly role: 'client' | 'server';
  readonly options: SessionOptions;
  readonly guard: Guard;
  readonly streams: StreamTable;
  readonly flow: FlowControl;
  /** No new streams are taken any more. */
  readonly closed: boolean;
  /** The peer itself said so. */
  readonly peerIsLeaving: boolean;
  acceptStream(id: number, head: RequestHead): void;
  reset(streamId: number, code: number): void;
  onPing(opaque: Buffer, ack: boolean): void;
  onGoaway(lastStreamId: number): void;
}

/**
 * What a peer's frames mean, and whether they are allowed now (RFC 9113, sections 5 and 6). Throws SessionError where the
 * connection has to end; where only a stream has to, it is reset and the peer's budget of such mistakes goes down.
 */
export class Incoming implements FrameSink {
  readonly #host: IncomingHost;
  readonly #assembly: HeaderAssembly;
  #greeted = false;
  /** Of the DATA frame that is coming: whose it is, and how much it carries. */
  #dataStream: Http2Stream | undefined;
  #dataBytes = 0;

  constructor(host: IncomingHost) {
    this.#host = host;
    this.#assembly = new HeaderAssembly(host.options.headers);
  }

  onDataBegin(streamId: number, length: number, padding: number): void {
    this.#expect(FRAME.data);
    const { streams, flow } = this.#host;
    if (streamId === 0 || streams.isIdle(streamId)) throw broken('DATA on a stream that does not exist');
    if (!flow.received(length)) throw flooded();
    const stream = streams.get(streamId);
    this.#dataBytes = length - padding;
    if (!stream?.expectsData) return this.#onStrayData(stream, streamId, length);
    this.#dataStream = stream;
    if (!stream.window.received(length)) throw flooded();
    if (padding > 0) stream.taken(padding);
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

  /** It may be on its way since before the peer heard that we reset the stream; if the peer was done with it, it is wrong. */
  #onStrayData(stream: Http2Stream | undefined, streamId: number, length: number): void {
    this.#host.flow.taken(length);
    this.#host.guard.count('ignoredFrames');
    if (stream) this.#breakOff(stream, stream.ended ? CODE.streamClosed : CODE.protocolError);
    else if (this.#host.streams.isDone(streamId)) throw late();
  }

  /** The peer made a mistake that concerns one stream only. */
  #breakOff(stream: Http2Stream, code: number): void {
    stream.cancel(code);
    this.#host.guard.count('invalidFrames');
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
      case FRAME.priority:
        return this.#onPriority(streamId, payload);
      case FRAME.pushPromise:
        throw broken('a push, which was not allowed');
      default:
        // What we do not know is ignored.
        return this.#host.guard.count('ignoredFrames');
    }
  }

  #expect(type: number, flags = 0): void {
    this.#host.guard.onFrame();
    const isFirst = !this.#greeted;
    this.#greeted = true;
    if (isFirst && (type !== FRAME.settings || flags & FLAG.ack)) throw broken('something before its SETTINGS');
    if (this.#assembly.isOpen && type !== FRAME.continuation) throw broken('a frame in the middle of a header block');
  }

  #onBlock(block: HeaderBlock | null): void {
    if (!block) return;
    const { streams, guard } = this.#host;
    const { streamId, fields } = block;
    if (streamId === 0) throw broken('HEADERS on stream 0');
    const stream = streams.get(streamId);
    if (fields === null) {
      guard.count('largeHeaders');
      if (stream) stream.cancel(CODE.enhanceYourCalm);
      else this.#skip(streamId, CODE.enhanceYourCalm);
      return;
    }
    if (stream) this.#onMoreHeaders(stream, fields, block.endStream);
    else if (streams.isIdle(streamId)) this.#onRequest(streamId, fields, block.endStream);
    else this.#onStrayHeaders(streamId, fields);
  }

  /** Trailers, or an answer, may still come for a stream that we have reset; a request never comes twice. */
  #onStrayHeaders(streamId: number, fields: readonly HeaderField[]): void {
    const { role, streams } = this.#host;
    if (streams.isDone(streamId)) throw late();
    if (role === 'server' && fields[0]?.[0].startsWith(':')) throw broken('a request with a number that was passed');
  }

  #onRequest(streamId: number, fields: readonly HeaderField[], endStream: boolean): void {
    const { streams, guard, options, closed, peerIsLeaving } = this.#host;
    this.#begin(streamId);
    guard.count('requests');
    const head = readRequest(fields);
    if (!head) {
      guard.count('invalidFrames');
      this.#host.reset(streamId, CODE.protocolError);
    } else if (closed) {
      // Our own GOAWAY may be on its way to it.
      if (peerIsLeaving) guard.count('refusedStreams');
      this.#host.reset(streamId, CODE.refusedStream);
    } else if (streams.openByPeer >= options.maxConcurrentStreams) {
      guard.count('refusedStreams');
      this.#host.reset(streamId, CODE.refusedStream);
    } else {
      this.#host.acceptStream(streamId, head);
      if (endStream) streams.get(streamId)?.deliverEnd([]);
    }
  }

  /** The answer's head, or trailers. */
  #onMoreHeaders(stream: Http2Stream, fields: readonly HeaderField[], endStream: boolean): void {
    if (stream.ended) return this.#breakOff(stream, CODE.streamClosed);
    if (!stream.answered) return this.#onResponse(stream, fields, endStream);
    const trailers = endStream ? readTrailers(fields) : null;
    if (trailers) stream.deliverEnd(trailers);
    else this.#breakOff(stream, CODE.protocolError);
  }

  #onResponse(stream: Http2Stream, fields: readonly HeaderField[], endStream: boolean): void {
    const head = readResponse(fields);
    // An interim answer (RFC 9110, 15.2) is never the last word.
    if (!head || (endStream && head.status < 200)) return this.#breakOff(stream, CODE.protocolError);
    stream.deliverResponse(head);
    if (endStream) stream.deliverEnd(head.fields);
  }

  /** A request that is not even looked at. */
  #skip(streamId: number, code: number): void {
    if (!this.#host.streams.isIdle(streamId)) return;
    this.#begin(streamId);
    this.#host.reset(streamId, code);
  }

  #begin(streamId: number): void {
    const { role, streams } = this.#host;
    if (role === 'client' || !streams.peerBegins(streamId))
      throw broken('a stream with a number that is not its to use');
  }

  /** Priorities are not for us, but a frame is to be what it says it is (RFC 9113, section 6.3). */
  #onPriority(streamId: number, payload: Buffer): void {
    if (streamId === 0) throw broken('PRIORITY of the connection');
    if (payload.length !== 5) throw sized('PRIORITY');
    this.#host.guard.count('ignoredFrames');
  }

  #onReset(streamId: number, payload: Buffer): void {
    if (payload.length !== 4) throw sized('RST_STREAM');
    if (streamId === 0 || this.#host.streams.isIdle(streamId)) throw broken('RST_STREAM of nothing');
    this.#host.guard.count('resets');
    this.#host.streams.get(streamId)?.close(payload.readUInt32BE(0));
    this.#host.streams.peerIsDone(streamId);
  }

  #onSettings(flags: number, streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw broken('SETTINGS on a stream');
    this.#host.guard.count('settings');
    if (flags & FLAG.ack) {
      if (payload.length > 0) throw sized('an answer to SETTINGS');
      this.#host.flow.onSettingsAcknowledged();
      return;
    }
    this.#host.flow.onSettings(payload);
  }

  #onPing(flags: number, streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw broken('PING on a stream');
    if (payload.length !== 8) throw sized('PING');
    const ack = (flags & FLAG.ack) !== 0;
    this.#host.guard.count('pings');
    this.#host.onPing(payload, ack);
  }

  #onGoaway(streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw broken('GOAWAY on a stream');
    if (payload.length < 8) throw sized('GOAWAY');
    // Like SETTINGS it concerns every stream.
    this.#host.guard.count('settings');
    this.#host.onGoaway(payload.readUInt32BE(0) & 0x7fff_ffff);
  }

  #onWindowUpdate(streamId: number, payload: Buffer): void {
    if (payload.length !== 4) throw sized('WINDOW_UPDATE');
    const bytes = payload.readUInt32BE(0) & 0x7fff_ffff;
    const { streams, flow, guard } = this.#host;
    if (streamId === 0) {
      if (!flow.expectsUpdate()) guard.count('windowUpdates');
      if (bytes === 0) throw broken('WINDOW_UPDATE by nothing');
      return flow.onConnectionUpdate(bytes);
    }
    if (streams.isIdle(streamId)) throw broken('WINDOW_UPDATE of nothing');
    const stream = streams.get(streamId);
    if (!stream) return guard.count('ignoredFrames');
    if (!flow.expectsUpdate()) guard.count('windowUpdates');
    if (bytes === 0) this.#breakOff(stream, CODE.protocolError);
    else if (!flow.onStreamUpdate(stream, bytes)) this.#breakOff(stream, CODE.flowControlError);
  }
}
