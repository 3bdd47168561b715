import { FairleadError } from '@fairlead/errors';
import type { NoteSigner, NoteVerifier } from './keys.js';

/** One signature line, not yet verified by anybody. */
export interface NoteSignature {
  readonly name: string;
  readonly keyId: number;
  readonly signature: Uint8Array;
}

/** A text and the lines below it (C2SP signed-note). */
export interface SignedNote {
  /** Ends with a newline. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

export interface OpenedNote extends SignedNote {
  /** The keys of ours that signed it, each once, in the order of the lines. */
  readonly verified: readonly { readonly verifier: NoteVerifier; readonly signature: Uint8Array }[];
}

/** A checkpoint has a few hundred bytes; one with a signature of a post-quantum key, five thousand more. */
const MAX_NOTE_BYTES = 64 * 1024;
const MAX_SIGNATURES = 100;
const KEY_ID_BYTES = 4;
const SIGNATURE_LINE = /^— ([^\p{White_Space}+]+) ([A-Za-z0-9+/]+={0,2})$/u;
// eslint-disable-next-line no-control-regex -- the format forbids just these
const CONTROL = /[\u0000-\u0009\u000b-\u001f]/;

/** Reads a note without believing it. Throws INVALID_ARGUMENT where it is malformed. */
export function parseNote(bytes: Uint8Array): SignedNote {
  if (bytes.length > MAX_NOTE_BYTES)
    throw malformed(`it has ${bytes.length} bytes, and at most ${MAX_NOTE_BYTES} are read`);
  const whole = decodeText(bytes);
  const end = whole.lastIndexOf('\n\n');
  if (end < 0) throw malformed('no empty line is between text and signatures');
  return { text: whole.slice(0, end + 1), signatures: parseSignatures(whole.slice(end + 2)) };
}

/** Reads signature lines alone, as a witness answers them. Throws INVALID_ARGUMENT where they are malformed, or none. */
export function parseSignatures(text: string): NoteSignature[] {
  if (!text.endsWith('\n')) throw malformed('it does not end with a line of a signature');
  const lines = text.slice(0, -1).split('\n');
  if (lines.length > MAX_SIGNATURES) throw malformed(`it has more than ${MAX_SIGNATURES} signatures`);
  return lines.map(parseSignature);
}

export function formatNote({ text, signatures }: SignedNote): Buffer {
  return Buffer.from(`${text}\n${formatSignatures(signatures)}`);
}

export function formatSignatures(signatures: readonly NoteSignature[]): string {
  return signatures.map(formatSignature).join('');
}

/** Signs a text, which ends with a newline, with each of the keys. */
export async function signNote(text: string, signers: readonly NoteSigner[]): Promise<SignedNote> {
  if (!text.endsWith('\n') || CONTROL.test(text))
    throw malformed('a text ends with a newline and has no control characters');
  const signatures = signers.map(async ({ name, keyId, sign }) => ({ name, keyId, signature: await sign(text) }));
  return { text, signatures: await Promise.all(signatures) };
}

/**
 * Reads a note and verifies the lines of keys that are known; others are kept and ignored. Throws INVALID_ARGUMENT where it is
 * malformed, UNTRUSTED_PEER where a known key's signature does not match, or no known key signed it.
 */
export function openNote(bytes: Uint8Array, verifiers: readonly NoteVerifier[]): OpenedNote {
  const note = parseNote(bytes);
  const verified = verifiers.flatMap((verifier) => {
    const line = note.signatures.find((signature) => isOf(verifier, signature));
    if (!line) return [];
    if (!verifier.verify(note.text, line.signature))
      throw new FairleadError(
        'UNTRUSTED_PEER',
        `the signature of ${verifier.name} does not match the note: it was changed, or forged`,
      );
    return [{ verifier, signature: line.signature }];
  });
  if (verified.length === 0)
    throw new FairleadError(
      'UNTRUSTED_PEER',
      `the note is not signed by ${verifiers.map(({ name }) => name).join(' or ')}`,
    );
  return { ...note, verified };
}

/** Name and key id together say whose a line is. */
export function isOf(verifier: NoteVerifier, { name, keyId }: NoteSignature): boolean {
  return verifier.name === name && verifier.keyId === keyId;
}

function parseSignature(line: string): NoteSignature {
  const [, name, encoded = ''] = SIGNATURE_LINE.exec(line) ?? [];
  const bytes = Buffer.from(encoded, 'base64');
  if (name === undefined || bytes.toString('base64') !== encoded || bytes.length <= KEY_ID_BYTES)
    throw malformed('a line below the text is not a signature');
  return { name, keyId: bytes.readUInt32BE(), signature: bytes.subarray(KEY_ID_BYTES) };
}

function formatSignature({ name, keyId, signature }: NoteSignature): string {
  const id = Buffer.alloc(KEY_ID_BYTES);
  id.writeUInt32BE(keyId);
  return `— ${name} ${Buffer.concat([id, signature]).toString('base64')}\n`;
}

function decodeText(bytes: Uint8Array): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw malformed('it is not UTF-8', cause);
  }
  if (CONTROL.test(text)) throw malformed('it has control characters');
  return text;
}

function malformed(why: string, cause?: unknown): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `this is no signed note: ${why}`, { cause });
}
