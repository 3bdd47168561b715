import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { hostAndPort, type KeyAndChain } from './gateway-subject.js';

/** Frame types of RFC 9113, section 6. */
export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const FLAG = { endStream: 1, ack: 1, endHeaders: 4 } as const;

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const HEADER_BYTES = 9;
const NO_ERROR = 0;

/** One HTTP/2 frame. The largest payload is 16,384 bytes. */
export function http2Frame(
  type: number,
  flags: number,
  streamId: number,
  payload: Uint8Array = Buffer.alloc(0),
): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(streamId, 5);
  return Buffer.concat([header, payload]);
}

export function rstStream(streamId: number, code = 8): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(code);
  return http2Frame(FRAME.rstStream, 0, streamId, payload);
}

/** HPACK (RFC 7541), nothing but literals: names and values go as they are, and are indexed where it says so. */
export function literal(name: string, value: string, { indexed = false } = {}): Buffer {
  return Buffer.concat([Buffer.from([indexed ? 0x40 : 0]), hpackString(name), hpackString(value)]);
}

/** The newest entry of the dynamic table: one byte that stands for a whole header. */
export const NEWEST_ENTRY = Buffer.from([0x80 | 62]);

function hpackString(text: string): Buffer {
  return Buffer.concat([hpackLength(Buffer.byteLength(text)), Buffer.from(text)]);
}

function hpackLength(length: number): Buffer {
  if (length < 127) return Buffer.from([length]);
  const bytes = [127];
  for (let rest = length - 127; ; rest = Math.floor(rest / 128)) {
    bytes.push(rest < 128 ? rest : 128 + (rest % 128));
    if (rest < 128) return Buffer.from(bytes);
  }
}

/** The pseudo headers of a gRPC call and its content type. */
export const callHeaders = (path: string): Buffer =>
  Buffer.concat([
    literal(':method', 'POST'),
    literal(':scheme', 'https'),
    literal(':authority', 'gateway'),
    literal(':path', path),
    literal('content-type', 'application/grpc+proto'),
    literal('te', 'trailers'),
  ]);

/**
 * A peer that writes frames no HTTP/2 library would: one TLS connection, of which only the frames' headers are read.
 * It answers SETTINGS and PING never.
 */
export class RawHttp2 implements AsyncDisposable {
  readonly socket: TLSSocket;
  /** How many frames of each type came, by number of the type. */
  readonly received = new Map<number, number>();
  /** Answers to its pings; the other end sends some of its own. */
  pongs = 0;
  /** Error code of GOAWAY, if one came. */
  goawayCode: number | null = null;
  readonly gone: Promise<void>;
  #rest = Buffer.alloc(0);

  private constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.gone = new Promise((resolve) => socket.once('close', () => resolve()));
  }

  static async dial(
    address: string,
    rootsPem: readonly string[],
    identity: KeyAndChain | null,
    first: Buffer = http2Frame(FRAME.settings, 0, 0),
  ): Promise<RawHttp2> {
    const socket = connect({
      ...hostAndPort(address),
      ca: [...rootsPem],
      ALPNProtocols: ['h2'],
      // The chain is verified; the name is a SPIFFE identity, which Node does not know.
      checkServerIdentity: () => undefined,
      ...(identity ? { key: identity.keyPem, cert: identity.chainPem } : {}),
    });
    await once(socket, 'secureConnect');
    socket.setNoDelay(true);
    const peer = new RawHttp2(socket);
    peer.socket.write(Buffer.concat([Buffer.from(PREFACE), first]));
    return peer;
  }

  /** Resolves once the bytes are with the kernel, or the connection is gone. */
  async send(...frames: readonly Buffer[]): Promise<void> {
    if (this.socket.destroyed) return;
    await new Promise<void>((resolve) => {
      this.socket.write(Buffer.concat(frames), () => resolve());
      void this.gone.then(resolve);
    });
  }

  get ended(): boolean {
    return this.socket.destroyed;
  }

  #read(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + this.#rest.readUIntBE(0, 3);
      if (this.#rest.length < end) return;
      this.#onFrame(this.#rest[3] ?? 0, this.#rest[4] ?? 0, this.#rest.subarray(HEADER_BYTES, end));
      this.#rest = this.#rest.subarray(end);
    }
  }

  #onFrame(type: number, flags: number, payload: Buffer): void {
    this.received.set(type, (this.received.get(type) ?? 0) + 1);
    if (type === FRAME.ping && (flags & FLAG.ack) !== 0) this.pongs += 1;
    if (type === FRAME.goaway) this.goawayCode = payload.length >= 8 ? payload.readUInt32BE(4) : NO_ERROR;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.destroy();
    await this.gone;
  }
}
