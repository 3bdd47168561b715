import { createHash } from 'node:crypto';

/** An OpenPGP key, as GnuPG calls it. */
interface SigningKey {
  /** The last 16 hexadecimal digits of the primary key's fingerprint. */
  readonly id: string;
  /** The same of the primary key and of each subkey: a commit may be signed by any of them. */
  readonly all: readonly string[];
}

const BLOCK = /-----BEGIN PGP PUBLIC KEY BLOCK-----([^]*?)-----END PGP PUBLIC KEY BLOCK-----/g;
const PRIMARY = 6;
const SUBKEY = 14;

/**
 * Reads one armoured public key of version 4 (RFC 4880): the others have no ids that Argo CD knows. Null for anything else, and for
 * several keys at once.
 */
export function readSigningKey(armoured: string): SigningKey | null {
  const blocks = [...armoured.matchAll(BLOCK)];
  const packets = blocks.length === 1 ? packetsOf(bytesOf(blocks[0]?.[1] ?? '')) : null;
  const keys = packets?.filter(({ tag }) => tag === PRIMARY || tag === SUBKEY) ?? [];
  const [primary, ...others] = keys;
  if (primary?.tag !== PRIMARY || others.some(({ tag }) => tag === PRIMARY)) return null;
  if (keys.some(({ body }) => body[0] !== 4)) return null;
  return { id: keyId(primary.body), all: keys.map(({ body }) => keyId(body)) };
}

/** Between the armour's headers, which end with an empty line, and its checksum. */
function bytesOf(block: string): Buffer {
  const lines = block.split(/\r?\n/).map((line) => line.trim());
  const headersEnd = lines.findIndex((line, at) => at > 0 && line === '');
  const body = lines.slice(headersEnd + 1).filter((line) => line !== '' && !line.startsWith('='));
  return Buffer.from(body.join(''), 'base64');
}

interface Packet {
  readonly tag: number;
  readonly body: Buffer;
}

/** https://www.rfc-editor.org/rfc/rfc4880#section-4.2; null for what is cut off, or of no length that keys have. */
function packetsOf(bytes: Buffer): Packet[] | null {
  const packets: Packet[] = [];
  let at = 0;
  while (at < bytes.length) {
    const first = bytes[at] ?? 0;
    if ((first & 0x80) === 0) return null;
    const isNew = (first & 0x40) !== 0;
    const length = isNew ? newLength(bytes, at + 1) : oldLength(bytes, at + 1, first & 0x03);
    if (!length || length.end + length.octets > bytes.length) return null;
    const tag = isNew ? first & 0x3f : (first >> 2) & 0x0f;
    at = length.end + length.octets;
    packets.push({ tag, body: bytes.subarray(length.end, at) });
  }
  return packets;
}

interface Length {
  readonly octets: number;
  /** Where the body begins. */
  readonly end: number;
}

function newLength(bytes: Buffer, at: number): Length | null {
  const [first, second] = [bytes[at], bytes[at + 1]];
  if (first === undefined) return null;
  if (first < 192) return { octets: first, end: at + 1 };
  if (first < 224 && second !== undefined) return { octets: ((first - 192) << 8) + second + 192, end: at + 2 };
  return first === 255 && at + 5 <= bytes.length ? { octets: bytes.readUInt32BE(at + 1), end: at + 5 } : null;
}

function oldLength(bytes: Buffer, at: number, type: number): Length | null {
  const size = [1, 2, 4][type];
  if (size === undefined || at + size > bytes.length) return null;
  return { octets: bytes.readUIntBE(at, size), end: at + size };
}

/** https://www.rfc-editor.org/rfc/rfc4880#section-12.2 */
function keyId(body: Buffer): string {
  const head = Buffer.from([0x99, body.length >> 8, body.length & 0xff]);
  return createHash('sha1').update(head).update(body).digest('hex').slice(-16).toUpperCase();
}
