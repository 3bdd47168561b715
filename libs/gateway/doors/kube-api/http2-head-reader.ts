import { FRAME, FLAG, FRAME_HEADER_BYTES, HTTP2_CODE, HTTP2_PREFACE, LARGEST_FRAME_BYTES } from '@fairlead/http2';

/** Frames before a peer's first request, and behind it until an acknowledgement: a stack that is used sends five at most. */
const MOST_FRAMES = 32;
/** Node ends whoever sends more. */
const MOST_CONTINUATIONS = 8;
const BEFORE_A_REQUEST: ReadonlySet<number> = new Set([FRAME.settings, FRAME.priority, FRAME.ping, FRAME.windowUpdate]);
const KNOWN_TYPES = 10;

export type Http2Head =
  | { readonly kind: 'incomplete' }
  /** All that was read but an acknowledgement of ours, and where in that the head ends. */
  | { readonly kind: 'complete'; readonly bytes: Buffer; readonly endsAt: number }
  /** A code of RFC 9113, section 7. */
  | { readonly kind: 'refused'; readonly code: number };

interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly endsAt: number;
}

/**
 * Reads a connection of HTTP/2 as far as its first request's header block is whole (RFC 9113, section 3.4: the preface, SETTINGS,
 * and then what one likes), without a look at what it says. Whatever no honest peer sends before that is refused, so that
 * it costs a few frames and no session. `maxBytes`: of everything.
 */
export class Http2HeadReader {
  readonly #maxBytes: number;
  #bytes: Buffer = Buffer.alloc(0);
  #at = HTTP2_PREFACE.length;
  #frames = 0;
  #continuations = 0;
  /** Of the request whose header block has begun. */
  #streamId = 0;
  #headEndsAt = 0;
  #awaitsAcknowledgement = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** We sent SETTINGS: their acknowledgement is for us, and Node, which sends its own, must not see it. */
  awaitAcknowledgement(): void {
    this.#awaitsAcknowledgement = true;
  }

  push(piece: Buffer): Http2Head {
    this.#bytes = this.#bytes.length === 0 ? piece : Buffer.concat([this.#bytes, piece]);
    const start = Math.min(this.#bytes.length, HTTP2_PREFACE.length);
    if (HTTP2_PREFACE.compare(this.#bytes, 0, start, 0, start) !== 0) return refused(HTTP2_CODE.protocolError);
    for (let frame = this.#next(); frame && !this.#isComplete(); frame = this.#next()) {
      const code = this.#take(frame);
      if (code !== undefined) return refused(code);
    }
    if (this.#isComplete()) return { kind: 'complete', bytes: this.#bytes, endsAt: this.#headEndsAt };
    return this.#bytes.length > this.#maxBytes ? refused(HTTP2_CODE.enhanceYourCalm) : { kind: 'incomplete' };
  }

  #isComplete(): boolean {
    return this.#headEndsAt > 0 && !this.#awaitsAcknowledgement;
  }

  /** Undefined while it has not come whole; one that is too large is told by its beginning. */
  #next(): Frame | undefined {
    if (this.#bytes.length < this.#at + FRAME_HEADER_BYTES) return undefined;
    const length = this.#bytes.readUIntBE(this.#at, 3);
    const endsAt = this.#at + FRAME_HEADER_BYTES + length;
    if (endsAt > this.#bytes.length && length <= LARGEST_FRAME_BYTES) return undefined;
    const [type, flags] = [this.#bytes[this.#at + 3] as number, this.#bytes[this.#at + 4] as number];
    return { type, flags, streamId: this.#bytes.readUInt32BE(this.#at + 5) & 0x7fff_ffff, endsAt };
  }

  /** The code of what is wrong with it. */
  #take(frame: Frame): number | undefined {
    const isFirst = this.#frames === 0;
    this.#frames += 1;
    if (frame.endsAt - this.#at - FRAME_HEADER_BYTES > LARGEST_FRAME_BYTES) return HTTP2_CODE.frameSizeError;
    if (this.#frames > MOST_FRAMES + this.#continuations) return HTTP2_CODE.enhanceYourCalm;
    if (isFirst && (frame.type !== FRAME.settings || isAcknowledgement(frame))) return HTTP2_CODE.protocolError;
    if (isAcknowledgement(frame)) return this.#takeAcknowledgement(frame);
    this.#at = frame.endsAt;
    if (this.#headEndsAt > 0) return undefined;
    if (this.#streamId > 0) return this.#takeContinuation(frame);
    if (frame.type === FRAME.headers) return this.#takeHeaders(frame);
    // Types that are not known are to be passed over (RFC 9113, section 5.5).
    return BEFORE_A_REQUEST.has(frame.type) || frame.type >= KNOWN_TYPES ? undefined : HTTP2_CODE.protocolError;
  }

  #takeAcknowledgement({ endsAt }: Frame): number | undefined {
    if (!this.#awaitsAcknowledgement) return HTTP2_CODE.protocolError;
    this.#awaitsAcknowledgement = false;
    this.#bytes = Buffer.concat([this.#bytes.subarray(0, this.#at), this.#bytes.subarray(endsAt)]);
    return undefined;
  }

  #takeHeaders({ streamId, flags, endsAt }: Frame): number | undefined {
    if (streamId === 0) return HTTP2_CODE.protocolError;
    this.#streamId = streamId;
    if ((flags & FLAG.endHeaders) !== 0) this.#headEndsAt = endsAt;
    return undefined;
  }

  #takeContinuation({ type, streamId, flags, endsAt }: Frame): number | undefined {
    if (type !== FRAME.continuation || streamId !== this.#streamId) return HTTP2_CODE.protocolError;
    this.#continuations += 1;
    if (this.#continuations > MOST_CONTINUATIONS) return HTTP2_CODE.enhanceYourCalm;
    if ((flags & FLAG.endHeaders) !== 0) this.#headEndsAt = endsAt;
    return undefined;
  }
}

function isAcknowledgement({ type, flags }: Frame): boolean {
  return type === FRAME.settings && (flags & FLAG.ack) !== 0;
}

function refused(code: number): Http2Head {
  return { kind: 'refused', code };
}

/** How many frames begin from there on; no more than `most` are looked at. */
export function countFrames(bytes: Buffer, from: number, most: number): number {
  let [frames, at] = [0, from];
  for (; frames < most && at + FRAME_HEADER_BYTES <= bytes.length; frames += 1) {
    at += FRAME_HEADER_BYTES + bytes.readUIntBE(at, 3);
  }
  return frames;
}
