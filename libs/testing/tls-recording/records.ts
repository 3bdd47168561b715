/** Content types of records (RFC 8446, section 5.1). */
export const CONTENT = { changeCipherSpec: 20, alert: 21, handshake: 22, applicationData: 23 } as const;
/** Types of handshake messages that matter here (RFC 8446, section 4). */
export const HANDSHAKE = { clientHello: 1, serverHello: 2, finished: 20, keyUpdate: 24 } as const;

const HEADER_BYTES = 5;
const MESSAGE_HEADER_BYTES = 4;
const VERSION_BYTES = 2;
const RANDOM_BYTES = 32;

export interface TlsRecord {
  readonly type: number;
  /** Protects what is encrypted too. */
  readonly header: Buffer;
  readonly body: Buffer;
}

/** What one end wrote, taken apart; `restBytes` of it are the beginning of a record that has not come to its end. */
export function readRecords(bytes: Buffer): { readonly records: readonly TlsRecord[]; readonly restBytes: number } {
  const records: TlsRecord[] = [];
  let at = 0;
  while (bytes.length - at >= HEADER_BYTES) {
    const end = at + HEADER_BYTES + bytes.readUInt16BE(at + 3);
    if (end > bytes.length) break;
    const header = bytes.subarray(at, at + HEADER_BYTES);
    records.push({ type: header.readUInt8(0), header, body: bytes.subarray(at + HEADER_BYTES, end) });
    at = end;
  }
  return { records, restBytes: bytes.length - at };
}

export interface HandshakeMessage {
  readonly type: number;
  readonly body: Buffer;
}

/** Puts handshake messages together: one record may hold several, and one message may need several records. */
export class HandshakeMessages {
  #held = Buffer.alloc(0);

  /** Those that are complete with this. */
  push(piece: Buffer): HandshakeMessage[] {
    this.#held = Buffer.concat([this.#held, piece]);
    const messages: HandshakeMessage[] = [];
    while (this.#held.length >= MESSAGE_HEADER_BYTES) {
      const end = MESSAGE_HEADER_BYTES + this.#held.readUIntBE(1, 3);
      if (end > this.#held.length) break;
      messages.push({ type: this.#held.readUInt8(0), body: this.#held.subarray(MESSAGE_HEADER_BYTES, end) });
      this.#held = this.#held.subarray(end);
    }
    return messages;
  }
}

/** In hex, as key logs name a connection. Throws for what does not begin with a ClientHello. */
export function clientRandomOf(records: readonly TlsRecord[]): string {
  const body = helloOf(records, HANDSHAKE.clientHello);
  return body.subarray(VERSION_BYTES, VERSION_BYTES + RANDOM_BYTES).toString('hex');
}

/** The number of the cipher suite that the server chose. Throws for what does not begin with a ServerHello. */
export function cipherSuiteOf(records: readonly TlsRecord[]): number {
  const body = helloOf(records, HANDSHAKE.serverHello);
  const sessionIdBytes = body.readUInt8(VERSION_BYTES + RANDOM_BYTES);
  return body.readUInt16BE(VERSION_BYTES + RANDOM_BYTES + 1 + sessionIdBytes);
}

function helloOf(records: readonly TlsRecord[], type: number): Buffer {
  const messages = new HandshakeMessages();
  for (const record of records) {
    if (record.type !== CONTENT.handshake) break;
    const [first] = messages.push(record.body);
    if (first?.type === type) return first.body;
    if (first) break;
  }
  throw new Error('this is not the beginning of a TLS connection');
}
