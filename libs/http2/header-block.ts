import { SessionError } from './errors.js';
import { HpackDecoder, HpackError, type HeaderField, type HeaderLimits } from './hpack/index.js';
import { CODE, FLAG } from './wire/constants.js';

const MAX_CONTINUATIONS = 8;
const PRIORITY_BYTES = 5;

/** A header block that came complete. */
export interface HeaderBlock {
  readonly streamId: number;
  readonly endStream: boolean;
  /** Null if there are more than the limits allow. */
  readonly fields: readonly HeaderField[] | null;
}

/**
 * Puts HEADERS and the CONTINUATION frames after it together, and decodes every block, whoever it is for: what one says
 * about the HPACK table holds for all that come after it. A block holds at most nine frames of 16 KiB: more is a flood
 * (CVE-2024-24549 and others), and ends the session.
 */
export class HeaderAssembly {
  readonly #hpack: HpackDecoder;
  #open: { streamId: number; endStream: boolean; pieces: Buffer[] } | null = null;

  constructor(limits: HeaderLimits) {
    this.#hpack = new HpackDecoder(limits);
  }

  /** Only CONTINUATION may come now. */
  get isOpen(): boolean {
    return this.#open !== null;
  }

  /** A HEADERS frame. The block, if it is complete. */
  begin(streamId: number, flags: number, payload: Buffer): HeaderBlock | null {
    const endStream = (flags & FLAG.endStream) !== 0;
    const piece = fragmentOf(flags, payload);
    if (flags & FLAG.endHeaders) return { streamId, endStream, fields: this.#decode(piece) };
    this.#open = { streamId, endStream, pieces: [Buffer.from(piece)] };
    return null;
  }

  continue(streamId: number, flags: number, payload: Buffer): HeaderBlock | null {
    const open = this.#open;
    if (open?.streamId !== streamId) {
      throw new SessionError(CODE.protocolError, 'CONTINUATION that continues nothing');
    }
    if (open.pieces.length > MAX_CONTINUATIONS) {
      throw new SessionError(CODE.enhanceYourCalm, 'CONTINUATION without an end', 'header-flood');
    }
    open.pieces.push(Buffer.from(payload));
    if (!(flags & FLAG.endHeaders)) return null;
    this.#open = null;
    return { streamId, endStream: open.endStream, fields: this.#decode(Buffer.concat(open.pieces)) };
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
}

/** What of a HEADERS payload is header block: padding and priority left out. */
function fragmentOf(flags: number, payload: Buffer): Buffer {
  let from = 0;
  let to = payload.length;
  if (flags & FLAG.padded) {
    from = 1;
    to -= payload[0] ?? 0;
  }
  if (flags & FLAG.priority) from += PRIORITY_BYTES;
  if (from > to) throw new SessionError(CODE.protocolError, 'HEADERS shorter than their padding');
  return payload.subarray(from, to);
}
