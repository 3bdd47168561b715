import { EventEmitter } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { readNoMore } from '@fairlead/limits';
import { SessionError, unreadAnswers } from './errors.js';
import { FlowControl } from './flow-control.js';
import { Guard } from './guard.js';
import type { RequestHead } from './header-rules.js';
import { encodeHeaders, type HeaderField } from './hpack/index.js';
import { Incoming, type IncomingHost } from './incoming.js';
import type { Allowance, SessionOptions } from './options.js';
import { Output, type SendLimits } from './output.js';
import { INITIAL_SETTINGS, MAX_DATA_FRAME_BYTES, greeting } from './settings.js';
import { Http2Stream, type StreamHost } from './stream.js';
import { StreamTable } from './stream-table.js';
import { CODE, DEFAULT_WINDOW_BYTES } from './wire/constants.js';
import { FrameReader } from './wire/frame-reader.js';
import { goawayFrame, headersFrames, pingFrame, rstStreamFrame } from './wire/frames.js';

/** After GOAWAY with an error, how long its way out may take. */
const GOAWAY_MS = 500;
/**
 * How long a peer that has not shown who it is keeps a connection that it was told to leave for a flood. It would come back at once, and each
 * handshake costs more than all that its connection may send.
 */
const OFFENDER_MS = 5_000;
/** And so much longer at random: those that were ended together must not come back together. */
const OFFENDER_JITTER_MS = 2_000;
/** What a peer may still send meanwhile: one that sends more is not read any more. */
const AFTER_GOAWAY_BYTES = 64 * 1024;
/** Control frames that may wait for a peer that does not read: for itself, and for the streams it may have. */
const waitingControl = ({ maxConcurrentStreams }: SessionOptions): number => 1_000 + 2 * maxConcurrentStreams;
/** Sets the HPACK table to nothing (RFC 7541, 6.3): we use none, whatever size the peer announces. */
const NO_TABLE = Buffer.from([0x20]);

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
export class Http2Session extends EventEmitter<SessionEvents> implements StreamHost<Http2Stream>, IncomingHost {
  readonly socket: TLSSocket;
  readonly role: 'client' | 'server';
  readonly options: SessionOptions;
  readonly guard: Guard;
  readonly streams: StreamTable;
  readonly flow: FlowControl;
  readonly #output: Output;
  readonly #pings = new Pings();
  readonly #peer: SendLimits = { ...INITIAL_SETTINGS, connectionSendWindow: DEFAULT_WINDOW_BYTES };
  #saidNoTable = false;
  #closing = false;
  #peerIsLeaving = false;
  #unheardBytes = 0;
  #destroyed = false;
  #gone = false;
  #cause: Error | null = null;

  constructor(socket: TLSSocket, role: 'client' | 'server', options: SessionOptions) {
    super();
    this.socket = socket;
    this.role = role;
    this.options = options;
    this.guard = new Guard(options.abuse);
    this.streams = new StreamTable(role);
    this.#output = new Output(socket, this.#peer, waitingControl(options), () => this.#failWith(unreadAnswers()));
    this.flow = new FlowControl(this.streams, this.#output, this.#peer, options);
    socket.setNoDelay(true);
    this.#output.control(greeting(role, options));
    this.#listen(new FrameReader(new Incoming(this), MAX_DATA_FRAME_BYTES, role === 'server'));
  }

  get destroyed(): boolean {
    return this.#destroyed;
  }

  /** Takes no new streams, of either end. */
  get closed(): boolean {
    return this.#closing || this.#destroyed;
  }

  /** The peer said GOAWAY. */
  get peerIsLeaving(): boolean {
    return this.#peerIsLeaving;
  }

  get bytesRead(): number {
    return this.socket.bytesRead;
  }

  /** What waits to be sent: on all streams, and before the kernel. */
  get queuedBytes(): number {
    return this.streams.all().reduce((sum, { pendingBytes }) => sum + pendingBytes, this.#output.inFlightBytes);
  }

  /** Answers, resets and other control frames that were not given to the socket yet. */
  get waitingControlBytes(): number {
    return this.#output.waitingControlBytes;
  }

  /** What the peer lets all streams together send, as of now. */
  get connectionSendWindow(): number {
    return this.#peer.connectionSendWindow;
  }

  /** Takes one more stream of ours. */
  get hasRoom(): boolean {
    return !this.closed && this.streams.openByUs < this.#peer.maxConcurrentStreams;
  }

  /** Begins a stream; with `endStream` its head is all of it. Throws if the session takes none any more, or the peer allows no more at once. */
  request(fields: readonly HeaderField[], { endStream = false } = {}): Http2Stream {
    if (this.closed) throw new Error('the session is closed');
    if (!this.hasRoom) throw new Error('the peer takes no more at once');
    const block = encodeHeaders(fields);
    const stream = this.#newStream(this.streams.nextOwn());
    this.sendHeaders(stream, block, endStream);
    if (endStream) stream.sentEnd();
    this.flow.fit(stream);
    if (this.streams.isUsedUp) this.#useNoMore();
    return stream;
  }

  /** Resolves with the round trip in milliseconds, or null if the session ended before. */
  ping(): Promise<number | null> {
    if (this.#destroyed) return Promise.resolve(null);
    return new Promise((resolve) => this.#output.control(pingFrame(this.#pings.next(resolve), false)));
  }

  /** What the peer may send from now on until it has shown who it is; null: it has. */
  setAllowance(allowance: Allowance | null): void {
    this.guard.allowance = allowance;
  }

  /** The window of new streams, and of those that are open as they are used. */
  setStreamWindow(bytes: number): void {
    this.flow.resizeStreams(bytes);
  }

  /** How much all streams together may hold; until then 64 KiB. */
  setConnectionWindow(bytes: number): void {
    this.flow.resizeConnection(bytes);
  }

  /** Takes no new streams and tells the peer so; those that are open go on. */
  shutdown(): void {
    if (this.closed) return;
    this.#closing = true;
    this.#output.control(goawayFrame(this.streams.lastTaken));
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
      this.#output.finish(goawayFrame(this.streams.lastTaken, code));
      const isOffender = code === CODE.enhanceYourCalm && this.guard.allowance !== null;
      // Neither read nor ended: whoever waits for its end does not dial meanwhile.
      if (isOffender) readNoMore(this.socket);
      else this.socket.end();
      const holdMs = isOffender ? OFFENDER_MS + Math.random() * OFFENDER_JITTER_MS : GOAWAY_MS;
      const timer = setTimeout(() => this.socket.destroy(), holdMs);
      this.socket.once('close', () => clearTimeout(timer));
    }
    this.#closeStreams();
  }

  // For streams.

  wakeUp(stream: Http2Stream): void {
    this.#output.ready(stream);
  }

  sendHeaders(stream: Http2Stream, block: Buffer, endStream: boolean): void {
    const first = !this.#saidNoTable;
    this.#saidNoTable = true;
    const whole = first ? Buffer.concat([NO_TABLE, block]) : block;
    this.#output.control(headersFrames(stream.id, whole, endStream, this.#peer.maxFrameBytes));
  }

  reset(streamId: number, code: number): void {
    this.#output.control(rstStreamFrame(streamId, code));
  }

  credit(stream: Http2Stream, bytes: number, opened: number): void {
    this.flow.openedStream(stream, opened);
    this.flow.taken(bytes);
  }

  forget(stream: Http2Stream): void {
    this.streams.remove(stream);
    this.flow.forget(stream);
    this.#output.gone(stream);
  }

  // For what comes.

  acceptStream(id: number, head: RequestHead): void {
    const stream = this.#newStream(id);
    this.flow.fit(stream);
    this.emit('stream', stream, head);
  }

  onPing(opaque: Buffer, ack: boolean): void {
    if (ack) this.#pings.answer(opaque);
    else this.#output.control(pingFrame(opaque, true));
  }

  onGoaway(lastStreamId: number): void {
    if (this.#destroyed) return;
    this.#closing = true;
    this.#peerIsLeaving = true;
    for (const stream of this.streams.all()) {
      if (stream.id > lastStreamId && !this.streams.isOfPeer(stream.id)) stream.close(CODE.refusedStream);
    }
    this.emit('goaway');
  }

  #listen(reader: FrameReader): void {
    const { socket } = this;
    socket.on('error', (error) => (this.#cause ??= error));
    socket.once('close', () => this.#onGone());
    // A peer that says nothing any more takes nothing any more either: without its WINDOW_UPDATE and PING nothing goes on.
    socket.once('end', () => this.destroy());
    socket.on('data', (chunk: Buffer) => this.#read(reader, chunk));
    // It may have gone before.
    if (socket.closed) queueMicrotask(() => this.#onGone());
  }

  #read(reader: FrameReader, chunk: Buffer): void {
    if (this.#destroyed) return this.#drop(chunk);
    try {
      this.guard.onRead(chunk.length);
      reader.push(chunk);
    } catch (error) {
      this.#failWith(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** It has not heard of the end yet; or it does not care. */
  #drop(chunk: Buffer): void {
    this.#unheardBytes += chunk.length;
    if (this.#unheardBytes > AFTER_GOAWAY_BYTES) readNoMore(this.socket);
  }

  #failWith(error: Error): void {
    this.destroy(error, error instanceof SessionError ? error.code : CODE.internalError);
  }

  #newStream(id: number): Http2Stream {
    const stream = new Http2Stream(id, this, this.flow.windowOfNewStream(), this.#peer.initialWindowBytes);
    this.streams.add(stream);
    return stream;
  }

  /** The numbers of our streams are used up: whoever wants another one needs another session. */
  #useNoMore(): void {
    this.#closing = true;
    queueMicrotask(() => this.emit('goaway'));
  }

  #onGone(): void {
    if (this.#gone) return;
    this.#gone = true;
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

/** A session on a TLS connection whose handshake is over, and whose peer is known to be the right one. */
export function connectHttp2(socket: TLSSocket, options: SessionOptions): Http2Session {
  return new Http2Session(socket, 'client', options);
}

type Answered = (roundTripMs: number | null) => void;

/** Pings that were sent and not answered yet. */
export class Pings {
  readonly #waiting = new Map<number, { readonly sentMs: number; readonly answered: Answered }>();
  #last = 0;

  /** The eight bytes of the next one. */
  next(answered: Answered): Buffer {
    this.#last = (this.#last + 1) % 2 ** 32;
    const opaque = Buffer.alloc(8);
    opaque.writeUInt32BE(this.#last, 4);
    this.#waiting.set(this.#last, { sentMs: performance.now(), answered });
    return opaque;
  }

  /** An answer came; one that nobody asked for is nothing. */
  answer(opaque: Buffer): void {
    const number = opaque.readUInt32BE(4);
    const ping = this.#waiting.get(number);
    this.#waiting.delete(number);
    ping?.answered(performance.now() - ping.sentMs);
  }

  /** There will be no more answers. */
  close(): void {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { answered } of all) answered(null);
  }
}
