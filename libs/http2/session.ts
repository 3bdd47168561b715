import { EventEmitter } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { SessionError } from './errors.js';
import { Guard } from './guard.js';
import type { RequestHead } from './header-rules.js';
import { encodeHeaders, type HeaderField } from './hpack/index.js';
import { Incoming, type IncomingHost } from './incoming.js';
import type { SessionOptions } from './options.js';
import { Output, type OutputHost } from './output.js';
import { Pings } from './pings.js';
import { INITIAL_SETTINGS, applySettings, type PeerSettings } from './settings.js';
import { StreamTable } from './stream-table.js';
import { Http2Stream, type StreamHost } from './stream.js';
import { ReceiveWindow } from './windows.js';
import { CODE, DEFAULT_WINDOW_BYTES, LARGEST_WINDOW_BYTES, PREFACE, SETTING } from './wire/constants.js';
import { FrameReader } from './wire/frame-reader.js';
import {
  SETTINGS_ACK,
  goawayFrame,
  headersFrames,
  pingFrame,
  rstStreamFrame,
  settingsFrame,
  windowUpdateFrame,
} from './wire/frames.js';

/** Largest DATA frame we take: what a writer of ours puts in one, which is a read of a socket and some. */
export const MAX_DATA_FRAME_BYTES = 128 * 1024;
/** After GOAWAY with an error, how long its way out may take. */
const GOAWAY_MS = 500;

interface SessionEvents {
  /** The peer began a stream. */
  stream: [stream: Http2Stream, head: RequestHead];
  /** The peer takes no new streams any more. */
  goaway: [];
  /** We end it, for this cause; nothing more comes of it. */
  ending: [cause: Error | null];
  /** The connection is gone; with the cause, if it was more than an end. */
  close: [cause: Error | null];
}

/**
 * One HTTP/2 session (RFC 9113) on a TLS connection. It reads whatever comes, whether its own writes wait or not, so that
 * two ends that are full both ways never wait for each other; what it holds is bounded by the windows it gives. Each stream
 * has a window of its own size.
 */
export class Http2Session extends EventEmitter<SessionEvents> implements StreamHost, OutputHost, IncomingHost {
  readonly socket: TLSSocket;
  readonly role: 'client' | 'server';
  readonly options: SessionOptions;
  readonly guard: Guard;
  readonly streams: StreamTable;
  readonly #output: Output;
  readonly #pings = new Pings();
  readonly #peer: PeerSettings = { ...INITIAL_SETTINGS };
  readonly #connectionWindow = new ReceiveWindow(DEFAULT_WINDOW_BYTES);
  connectionSendWindow = DEFAULT_WINDOW_BYTES;
  #streamWindowBytes: number;
  #closing = false;
  #destroyed = false;
  #cause: Error | null = null;

  constructor(socket: TLSSocket, role: 'client' | 'server', options: SessionOptions) {
    super();
    this.socket = socket;
    this.role = role;
    this.options = options;
    this.guard = new Guard(options.abuse);
    this.streams = new StreamTable(role);
    this.#streamWindowBytes = options.streamWindowBytes;
    this.#output = new Output(socket, this, () => this.#failWith(unreadAnswers()));
    socket.setNoDelay(true);
    socket.on('error', (error) => (this.#cause ??= error));
    socket.once('close', () => this.#onGone());
    this.#greet();
    const reader = new FrameReader(new Incoming(this), MAX_DATA_FRAME_BYTES, role === 'server');
    socket.on('data', (chunk: Buffer) => this.#read(reader, chunk));
  }

  get destroyed(): boolean {
    return this.#destroyed;
  }

  /** Takes no new streams, of either end. */
  get closed(): boolean {
    return this.#closing || this.#destroyed;
  }

  /** What the peer has sent so far. */
  get bytesRead(): number {
    return this.socket.bytesRead;
  }

  /** What waits to be sent: on all streams, and before the kernel. */
  get queuedBytes(): number {
    return this.streams.all().reduce((sum, { pendingBytes }) => sum + pendingBytes, this.#output.inFlightBytes);
  }

  get maxFrameBytes(): number {
    return this.#peer.maxFrameBytes;
  }

  get streamWindowBytes(): number {
    return this.#streamWindowBytes;
  }

  /** Begins a stream. Throws if the session takes none any more, or the peer allows no more at once. */
  request(fields: readonly HeaderField[]): Http2Stream {
    if (this.closed) throw new Error('the session is closed');
    const open = this.streams.size - this.streams.openByPeer;
    if (open >= this.#peer.maxConcurrentStreams) throw new Error('the peer takes no more streams at once');
    const stream = this.#newStream(this.streams.nextOwn());
    this.sendHeaders(stream, fields, false);
    this.#fitWindow(stream);
    return stream;
  }

  /** Resolves with the round trip in milliseconds, or null if the session ended before. */
  ping(): Promise<number | null> {
    if (this.#destroyed) return Promise.resolve(null);
    return new Promise((resolve) => this.#output.control(pingFrame(this.#pings.next(resolve), false)));
  }

  /** The window of new streams, and of those that are open as they are used. */
  setStreamWindow(bytes: number): void {
    const grows = bytes > this.#streamWindowBytes;
    this.#streamWindowBytes = bytes;
    for (const stream of this.streams.all()) {
      if (grows) this.#fitWindow(stream);
      else stream.resizeWindow(bytes);
    }
  }

  /** How much all streams together may hold; until then 64 KiB. */
  setConnectionWindow(bytes: number): void {
    this.#openConnection(this.#connectionWindow.resize(bytes));
  }

  /** Takes no new streams and tells the peer so; those that are open go on. */
  shutdown(): void {
    if (this.closed) return;
    this.#closing = true;
    this.#output.control(goawayFrame(this.streams.lastOfPeer));
  }

  /** Ends the connection, and every stream on it. With a code of RFC 9113, section 7, the peer is told why. */
  destroy(cause: Error | null = null, code?: number): void {
    if (this.#destroyed) return;
    this.#cause ??= cause;
    this.#destroyed = true;
    this.emit('ending', cause);
    if (code === undefined) {
      this.socket.destroy();
    } else {
      this.#output.finish(goawayFrame(this.streams.lastOfPeer, code));
      this.socket.end();
      const timer = setTimeout(() => this.socket.destroy(), GOAWAY_MS);
      this.socket.once('close', () => clearTimeout(timer));
    }
    this.#closeStreams();
  }

  // For streams.

  wakeUp(stream: Http2Stream): void {
    this.#output.ready(stream);
  }

  sendHeaders(stream: Http2Stream, fields: readonly HeaderField[], endStream: boolean): void {
    this.#output.control(headersFrames(stream.id, encodeHeaders(fields), endStream, this.#peer.maxFrameBytes));
  }

  reset(stream: Http2Stream, code: number): void {
    this.#output.control(rstStreamFrame(stream.id, code));
  }

  credit(stream: Http2Stream, bytes: number, opened: number): void {
    if (opened > 0) this.#output.control(windowUpdateFrame(stream.id, opened));
    this.#openConnection(this.#connectionWindow.taken(bytes));
  }

  forget(stream: Http2Stream): void {
    this.streams.remove(stream);
  }

  // For what comes.

  acceptStream(id: number, head: RequestHead): Http2Stream {
    const stream = this.#newStream(id);
    this.#fitWindow(stream);
    this.emit('stream', stream, head);
    return stream;
  }

  refuseStream(id: number, code: number): void {
    this.#output.control(rstStreamFrame(id, code));
  }

  /** False if the peer exceeded what the connection allows. */
  receivedOnConnection(bytes: number): boolean {
    return this.#connectionWindow.received(bytes);
  }

  /** Bytes that came for nobody. */
  discarded(bytes: number): void {
    this.#openConnection(this.#connectionWindow.taken(bytes));
  }

  onSettings(payload: Buffer): void {
    const before = this.#peer.initialWindowBytes;
    applySettings(this.#peer, payload);
    const change = this.#peer.initialWindowBytes - before;
    this.#output.control(SETTINGS_ACK);
    if (change === 0) return;
    for (const stream of this.streams.all()) this.#openForSending(stream, change);
  }

  onWindowUpdate(streamId: number, bytes: number): void {
    if (streamId === 0) {
      this.connectionSendWindow += bytes;
      if (this.connectionSendWindow > LARGEST_WINDOW_BYTES) throw tooWide();
      this.#output.windowOpened();
      return;
    }
    const stream = this.streams.get(streamId);
    if (stream) this.#openForSending(stream, bytes);
  }

  onPing(opaque: Buffer, ack: boolean): void {
    if (ack) this.#pings.answer(opaque);
    else this.#output.control(pingFrame(opaque, true));
  }

  onGoaway(lastStreamId: number): void {
    this.#closing = true;
    for (const stream of this.streams.all()) {
      if (stream.id > lastStreamId && !this.streams.isOfPeer(stream.id)) stream.close(CODE.refusedStream);
    }
    this.emit('goaway');
  }

  #greet(): void {
    if (this.role === 'client') this.#output.control(PREFACE);
    this.#output.control(
      settingsFrame([
        [SETTING.enablePush, 0],
        [SETTING.maxConcurrentStreams, this.options.maxConcurrentStreams],
        [SETTING.initialWindowSize, this.options.streamWindowBytes],
        [SETTING.maxFrameSize, MAX_DATA_FRAME_BYTES],
        [SETTING.maxHeaderListSize, this.options.headers.maxListBytes],
      ]),
    );
  }

  #read(reader: FrameReader, chunk: Buffer): void {
    if (this.#destroyed) return;
    try {
      reader.push(chunk);
    } catch (error) {
      this.#failWith(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #failWith(error: Error): void {
    this.destroy(error, error instanceof SessionError ? error.code : CODE.internalError);
  }

  #newStream(id: number): Http2Stream {
    const stream = new Http2Stream(id, this, this.options.streamWindowBytes, this.#peer.initialWindowBytes);
    this.streams.add(stream);
    return stream;
  }

  #fitWindow(stream: Http2Stream): void {
    const opened = stream.resizeWindow(this.#streamWindowBytes);
    if (opened > 0) this.#output.control(windowUpdateFrame(stream.id, opened));
  }

  #openForSending(stream: Http2Stream, bytes: number): void {
    stream.sendWindow += bytes;
    if (stream.sendWindow > LARGEST_WINDOW_BYTES) throw tooWide();
    this.#output.ready(stream);
  }

  #openConnection(bytes: number): void {
    if (bytes > 0 && !this.#destroyed) this.#output.control(windowUpdateFrame(0, bytes));
  }

  #onGone(): void {
    this.#destroyed = true;
    this.#output.finish();
    this.#pings.close();
    this.#closeStreams();
    this.emit('close', this.#cause);
  }

  #closeStreams(): void {
    for (const stream of this.streams.all()) stream.close(CODE.cancel);
  }
}

function tooWide(): SessionError {
  return new SessionError(CODE.flowControlError, 'a window larger than 2^31-1');
}

function unreadAnswers(): SessionError {
  return new SessionError(CODE.enhanceYourCalm, 'the peer asks and does not read the answers', 'unread-answers');
}
