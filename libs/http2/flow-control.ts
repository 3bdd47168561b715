import { SessionError } from './errors.js';
import type { SessionOptions } from './options.js';
import type { Output, SendLimits } from './output.js';
import { applySettings } from './settings.js';
import type { StreamTable } from './stream-table.js';
import type { Http2Stream } from './stream.js';
import { Hurry, type WindowGrowth } from './window-growth.js';
import { ReceiveWindow } from './windows.js';
import { CODE, DEFAULT_WINDOW_BYTES, LARGEST_WINDOW_BYTES } from './wire/constants.js';
import { SETTINGS_ACK, windowUpdateFrame } from './wire/frames.js';

/** As Envoy counts: a frame may be read in pieces, and each opens the window of its stream and of the connection. */
const UPDATES_PER_DATA_FRAME = 10;

/** The windows of one session, both ways: what the peer lets us send, and what we let it send (RFC 9113, section 5.2). */
export class FlowControl {
  readonly #streams: StreamTable;
  readonly #output: Output;
  readonly #peer: SendLimits;
  readonly #announcedBytes: number;
  readonly #connection = new ReceiveWindow(DEFAULT_WINDOW_BYTES);
  readonly #growth: WindowGrowth | null;
  readonly #hurry = new Hurry();
  #streamBytes: number;
  #acknowledged = false;
  /** WINDOW_UPDATE frames that came for what we sent. */
  #updates = 0;

  /** `options` have the window that our SETTINGS announce; what the peer announces is kept in `peer`. */
  constructor(streams: StreamTable, output: Output, peer: SendLimits, options: SessionOptions) {
    this.#streams = streams;
    this.#output = output;
    this.#peer = peer;
    this.#announcedBytes = options.streamWindowBytes;
    this.#streamBytes = options.streamWindowBytes;
    this.#growth = options.growth ?? null;
  }

  // What the peer lets us send.

  /** A SETTINGS frame: open streams get what the new initial window differs by, which may leave them below zero. */
  onSettings(payload: Buffer): void {
    const before = this.#peer.initialWindowBytes;
    applySettings(this.#peer, payload);
    const change = this.#peer.initialWindowBytes - before;
    this.#output.control(SETTINGS_ACK);
    if (change === 0) return;
    for (const stream of this.#streams.all()) {
      if (!this.#openStream(stream, change)) throw tooWide();
    }
  }

  /** Did we send enough for one more WINDOW_UPDATE? */
  expectsUpdate(): boolean {
    if (this.#updates >= UPDATES_PER_DATA_FRAME * this.#output.dataFrames) return false;
    this.#updates += 1;
    return true;
  }

  onConnectionUpdate(bytes: number): void {
    this.#peer.connectionSendWindow += bytes;
    if (this.#peer.connectionSendWindow > LARGEST_WINDOW_BYTES) throw tooWide();
    this.#output.windowOpened();
  }

  /** False if the window is larger now than any may be. */
  onStreamUpdate(stream: Http2Stream, bytes: number): boolean {
    return this.#openStream(stream, bytes);
  }

  // What we let the peer send.

  /** The peer knows the window that we announced: no more than that is to come on streams that begin from now on. */
  onSettingsAcknowledged(): void {
    this.#acknowledged = true;
  }

  windowOfNewStream(): ReceiveWindow {
    const grace = this.#acknowledged ? 0 : Math.max(0, DEFAULT_WINDOW_BYTES - this.#announcedBytes);
    return new ReceiveWindow(this.#announcedBytes, grace);
  }

  /** False if the peer exceeded what the connection allows. */
  received(bytes: number): boolean {
    return this.#connection.received(bytes);
  }

  /** Of the connection's window, this much was taken by whoever it came for, or came for nobody. */
  taken(bytes: number): void {
    this.#tell(0, this.#connection.taken(bytes));
  }

  /** The same of a stream's window, which opens by this much, and by more if the stream is in a hurry. */
  openedStream(stream: Http2Stream, bytes: number): void {
    const growth = this.#growth;
    if (bytes === 0) return;
    const more = growth ? stream.window.resize(stream.pace.taken(bytes, this.#streamBytes, this.#hurry, growth)) : 0;
    this.#tell(stream.id, bytes + more);
  }

  /** The stream is gone. */
  forget(stream: Http2Stream): void {
    stream.pace.leave(this.#hurry);
  }

  resizeConnection(bytes: number): void {
    this.#tell(0, this.#connection.resize(bytes));
  }

  /** The window of new streams, and of those that are open as they are used. */
  resizeStreams(bytes: number): void {
    this.#streamBytes = bytes;
    for (const stream of this.#streams.all()) this.fit(stream);
  }

  /** Gives a stream the window that all have now; to be called once its HEADERS are out. */
  fit(stream: Http2Stream): void {
    this.#tell(stream.id, stream.window.resize(this.#streamBytes));
  }

  #tell(streamId: number, bytes: number): void {
    if (bytes > 0) this.#output.control(windowUpdateFrame(streamId, bytes));
  }

  #openStream(stream: Http2Stream, bytes: number): boolean {
    stream.sendWindow += bytes;
    if (stream.sendWindow > LARGEST_WINDOW_BYTES) return false;
    this.#output.ready(stream);
    return true;
  }
}

function tooWide(): SessionError {
  return new SessionError(CODE.flowControlError, 'a window larger than 2^31-1');
}
