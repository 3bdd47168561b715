import { FairleadError } from '@fairlead/errors';
import { EMPTY_ROOT, HASH_BYTES, requireSize, sameHash, type Hash } from '../merkle/hashes.js';
import type { NoteSigner, NoteVerifier } from '../note/keys.js';
import { formatNote, openNote, signNote } from '../note/signed-note.js';

/** What a log says of itself at one size (C2SP tlog-checkpoint). */
export interface Checkpoint {
  /** Which log it is, forever: a tree that does not go on from this one needs another origin. */
  readonly origin: string;
  readonly size: number;
  readonly root: Hash;
}

export interface OpenedCheckpoint extends Checkpoint {
  /** The signed text, which a cosignature is of. */
  readonly text: string;
  /** Opaque lines, if any. We write none, since nobody can audit them. */
  readonly extensions: readonly string[];
}

const LINE = /^[^\p{Cc}]+$/u;
const SIZE = /^(?:0|[1-9]\d{0,15})$/;
const ROOT = /^[A-Za-z0-9+/]{43}=$/;

/** The text to be signed. Throws INVALID_ARGUMENT for an origin that is no line, or a size or root that are none. */
export function formatCheckpoint({ origin, size, root }: Checkpoint): string {
  requireSize(size, 'the size of a checkpoint');
  if (!LINE.test(origin)) throw malformed('its origin is empty, or more than a line');
  if (root.length !== HASH_BYTES) throw malformed(`its root has ${root.length} bytes`);
  return `${origin}\n${size}\n${Buffer.from(root).toString('base64')}\n`;
}

/** Reads the text of a checkpoint. Throws INVALID_ARGUMENT where it is malformed. */
export function parseCheckpoint(text: string): OpenedCheckpoint {
  if (!text.endsWith('\n')) throw malformed('it does not end with a newline');
  const [origin = '', sizeLine = '', rootLine = '', ...extensions] = text.slice(0, -1).split('\n');
  const size = Number(sizeLine);
  const root = Buffer.from(rootLine, 'base64');
  if (![origin, ...extensions].every((line) => LINE.test(line))) throw malformed('a line is empty');
  if (!SIZE.test(sizeLine) || !Number.isSafeInteger(size)) throw malformed('its second line is no size');
  if (!ROOT.test(rootLine) || root.toString('base64') !== rootLine) throw malformed('its third line is no root hash');
  if (size === 0 && !sameHash(root, EMPTY_ROOT)) throw malformed('an empty tree has another root');
  return { origin, size, root, text, extensions };
}

/** A checkpoint as it is served. The signers' names should be the origin. */
export async function signCheckpoint(checkpoint: Checkpoint, signers: readonly NoteSigner[]): Promise<Buffer> {
  return formatNote(await signNote(formatCheckpoint(checkpoint), signers));
}

/**
 * The checkpoint in a note, once a key of the log has signed it. Throws INVALID_ARGUMENT where it is malformed, UNTRUSTED_PEER where no
 * such key signed it or a signature does not match, and CONFLICT where it is of another log.
 */
export function openCheckpoint(note: Uint8Array, origin: string, logKeys: readonly NoteVerifier[]): OpenedCheckpoint {
  const checkpoint = parseCheckpoint(openNote(note, logKeys).text);
  if (checkpoint.origin !== origin)
    throw new FairleadError('CONFLICT', `the checkpoint is of the log ${checkpoint.origin}, and not of ${origin}`);
  return checkpoint;
}

function malformed(why: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `this is no checkpoint: ${why}`);
}
