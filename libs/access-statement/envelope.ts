import { FairleadError } from '@fairlead/errors';
import type { SignedStatement } from '@fairlead/pki';
import { MAX_STATEMENT_BYTES } from './access-statement.js';

/** Of what travels, before base64: the document, up to three certificates and a signature. */
export const MAX_ENVELOPE_BYTES = 24_576;

const VERSION = 1;
/** Behind the version and the number of certificates. */
const CHAIN_AT = 2;
/** Leaf, issuing CA, and during a rotation the new root's certificate by the old one. */
const MAX_CERTIFICATES = 3;
const MAX_CERTIFICATE_BYTES = 2_560;
const MAX_SIGNATURE_BYTES = 256;

/**
 * A signed document as few bytes, because it travels in a header: a version, how many certificates, each with its length before it, the signature with
 * its length before it, and the document to the end. Lengths are 16 bits, most significant first.
 */
export function packEnvelope({ document, signerChainPem, signature }: SignedStatement): Uint8Array {
  const parts = [...signerChainPem.map(derOf), signature].flatMap((part) => [lengthOf(part), part]);
  const packed = new Uint8Array(Buffer.concat([Uint8Array.of(VERSION, signerChainPem.length), ...parts, document]));
  unpackEnvelope(packed);
  return packed;
}

/** An envelope whose certificates nobody has looked at: most are of a signer that is known by these very bytes. */
export interface Envelope {
  readonly document: Uint8Array;
  readonly signature: Uint8Array;
  /** All certificates as they are packed. */
  readonly chain: Uint8Array;
  /** Each of them in DER, leaf first. */
  readonly certificates: readonly Uint8Array[];
}

/** Throws STATEMENT_REFUSED for what no envelope can be. */
export function unpackEnvelope(packed: Uint8Array): SignedStatement {
  const { document, signature, certificates } = readEnvelope(packed);
  return { document, signature, signerChainPem: certificates.map(pemOf) };
}

/** The same with certificates as they are: parts of `packed`, not copies. STATEMENT_REFUSED. */
export function readEnvelope(packed: Uint8Array): Envelope {
  if (packed.length > MAX_ENVELOPE_BYTES) throw unreadable(`it is larger than ${MAX_ENVELOPE_BYTES} bytes`);
  const [version, count = 0] = packed;
  if (version !== VERSION) throw unreadable('it is of another version');
  if (count < 1 || count > MAX_CERTIFICATES) throw unreadable('its chain is too short or too long');
  const reader = new Reader(packed, CHAIN_AT);
  const certificates: Uint8Array[] = [];
  while (certificates.length < count) certificates.push(reader.next(MAX_CERTIFICATE_BYTES));
  const chain = packed.subarray(CHAIN_AT, reader.at);
  const signature = reader.next(MAX_SIGNATURE_BYTES);
  const document = reader.rest();
  if (document.length > MAX_STATEMENT_BYTES) throw unreadable(`it says more than ${MAX_STATEMENT_BYTES} bytes`);
  return { document, signature, chain, certificates };
}

/** Parts that have their length before them. */
class Reader {
  readonly #packed: Uint8Array;
  #at: number;

  constructor(packed: Uint8Array, at: number) {
    this.#packed = packed;
    this.#at = at;
  }

  /** Where the next part begins. */
  get at(): number {
    return this.#at;
  }

  next(max: number): Uint8Array {
    const length = (this.#packed[this.#at] ?? 0) * 256 + (this.#packed[this.#at + 1] ?? 0);
    const from = this.#at + 2;
    if (length === 0 || length > max || from + length > this.#packed.length) throw unreadable('it is cut off');
    this.#at = from + length;
    return this.#packed.subarray(from, this.#at);
  }

  rest(): Uint8Array {
    return this.#packed.subarray(this.#at);
  }
}

function lengthOf({ length }: Uint8Array): Uint8Array {
  return Uint8Array.of(length >> 8, length & 0xff);
}

function derOf(pem: string): Uint8Array {
  return Buffer.from(pem.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64');
}

/** As certificates are read elsewhere. */
export function pemOf(der: Uint8Array): string {
  return `-----BEGIN CERTIFICATE-----\n${Buffer.from(der).toString('base64')}\n-----END CERTIFICATE-----\n`;
}

function unreadable(why: string): FairleadError {
  return new FairleadError('STATEMENT_REFUSED', `the access statement cannot be read: ${why}`);
}
