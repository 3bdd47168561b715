/** RFC 6455, 7.4.1. */
export const CLOSE_CODES = { goingAway: 1001, policyViolation: 1008 } as const;
type CloseCode = (typeof CLOSE_CODES)[keyof typeof CLOSE_CODES];

/** Of a control frame (RFC 6455, 5.5), less the two of the code. */
const MAX_REASON_BYTES = 123;
const FINAL_CLOSE = 0x88;
const [MASKED, LENGTH] = [0x80, 0x7f];
/** What the length of a frame says that is in further bytes, and how many these are (RFC 6455, 5.2). */
const LENGTH_BYTES: Readonly<Record<number, number>> = { 126: 2, 127: 8 };
const MASK_BYTES = 4;

/** Where one is in the bytes of one direction of a WebSocket: whoever writes a frame of their own may do so only between two others (RFC 6455, 5.2). */
export class FramePosition {
  /** Of a head that is not whole yet; 14 bytes at most. */
  #head: number[] = [];
  /** Of the frame whose head is known. */
  #left = 0;

  get isBetween(): boolean {
    return this.#left === 0 && this.#head.length === 0;
  }

  /** These came next. */
  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length;) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, chunk.length - at);
        this.#left -= taken;
        at += taken;
      } else {
        this.#head.push(chunk[at] ?? 0);
        at += 1;
        this.#readHead();
      }
    }
  }

  #readHead(): void {
    const [, second = 0] = this.#head;
    const more = LENGTH_BYTES[second & LENGTH] ?? 0;
    const whole = 2 + more + (second & MASKED ? MASK_BYTES : 0);
    if (this.#head.length < 2 || this.#head.length < whole) return;
    const length = this.#head.slice(2, 2 + more).reduce((sum, byte) => sum * 256 + byte, 0);
    this.#left = more > 0 ? length : second & LENGTH;
    this.#head = [];
  }
}

/** A server's frame that closes a WebSocket, and says why; a reason that is too long is cut. */
export function closeFrame(code: CloseCode, reason: string): Buffer {
  const text = cut(Buffer.from(reason));
  const frame = Buffer.alloc(4 + text.length);
  frame.writeUInt8(FINAL_CLOSE, 0);
  frame.writeUInt8(2 + text.length, 1);
  frame.writeUInt16BE(code, 2);
  text.copy(frame, 4);
  return frame;
}

/** Not within a character: a reason that is no UTF-8 is an error of its own (RFC 6455, 5.5.1). */
function cut(text: Buffer): Buffer {
  if (text.length <= MAX_REASON_BYTES) return text;
  let end = MAX_REASON_BYTES;
  while (end > 0 && ((text[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return text.subarray(0, end);
}
