import { FairleadError } from '@fairlead/errors';
import { cosignedAt, type NoteVerifier } from '../note/keys.js';
import { isOf, parseNote } from '../note/signed-note.js';

export interface Quorum {
  readonly reached: boolean;
  readonly cosigned: readonly { readonly name: string; readonly at: Date }[];
  /** Witnesses without a line below the checkpoint. */
  readonly missing: readonly string[];
  /** Witnesses in whose name there is a line that they did not sign for this checkpoint. */
  readonly forged: readonly string[];
}

/**
 * Whether at least `needed` of the witnesses cosigned a checkpoint. Nothing is said of the log's own signature: open the checkpoint as
 * well. Throws INVALID_ARGUMENT for a malformed note, a key that is no witness's, two witnesses of one key, or a number that can never
 * be reached: under any of them a quorum would mean less than it says.
 */
export function verifyQuorum(note: Uint8Array, witnesses: readonly NoteVerifier[], needed: number): Quorum {
  requirePolicy(witnesses, needed);
  const { text, signatures } = parseNote(note);
  const seen = witnesses.map((witness) => {
    const line = signatures.find((signature) => isOf(witness, signature));
    return { name: witness.name, line, isGood: line !== undefined && witness.verify(text, line.signature) };
  });
  const cosigned = seen.flatMap(({ name, line, isGood }) =>
    isGood && line ? [{ name, at: cosignedAt(line.signature) }] : [],
  );
  return {
    reached: cosigned.length >= needed,
    cosigned,
    missing: seen.filter(({ line }) => line === undefined).map(({ name }) => name),
    forged: seen.filter(({ line, isGood }) => line !== undefined && !isGood).map(({ name }) => name),
  };
}

function requirePolicy(witnesses: readonly NoteVerifier[], needed: number): void {
  if (witnesses.some(({ type }) => type !== 'cosignature')) throw unusable('one of the keys is no key of a witness');
  // What a witness signs does not say its name: the same key under two names would count twice.
  const keys = new Set(witnesses.map(({ publicKey }) => Buffer.from(publicKey).toString('hex')));
  if (keys.size < witnesses.length) throw unusable('two of them have the same key');
  if (!Number.isSafeInteger(needed) || needed < 1 || needed > witnesses.length)
    throw unusable(`${needed} of ${witnesses.length} cannot be asked for`);
}

function unusable(why: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `these witnesses make no quorum: ${why}`);
}
