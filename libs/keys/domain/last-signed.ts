import type { SignedAuditTree } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { openCheckpoint, parseVerifierKey, renamedVerifier } from '@fairlead/transparency-log';

/**
 * How the two places that remember what was signed last stand to each other. `file-missing`: the database alone has it. `file-behind`: the files were restored to an earlier point.
 * `database-behind`: the database was, or it did not commit what was written to the file. `database-changed`: what it has is not what the log's key signed.
 */
export type Remembered = 'agree' | 'file-missing' | 'file-behind' | 'database-behind' | 'database-changed';

export interface LastSigned {
  readonly tree: SignedAuditTree | null;
  readonly remembered: Remembered;
}

/**
 * The later of what the file has, which was verified when it was read, and what the database has. The database counts beside a file only by a checkpoint that the key which the file
 * names has signed, so that nobody gains by writing there. Which key that is, is looked at where it signs.
 */
export function lastSigned(file: SignedAuditTree | null, held: SignedAuditTree | null): LastSigned {
  if (!file) return { tree: held, remembered: held ? 'file-missing' : 'agree' };
  if (!held) return { tree: file, remembered: 'database-behind' };
  const signed = opened(held, file.verifierKey);
  if (!signed) return { tree: file, remembered: 'database-changed' };
  const tree = isLater(signed, file) ? signed : file;
  return { tree, remembered: comparison(file, signed, held) };
}

function comparison(file: SignedAuditTree, signed: SignedAuditTree, held: SignedAuditTree): Remembered {
  if (signed.size !== held.size || signed.root !== held.root) return 'database-changed';
  if (isLater(signed, file)) return 'file-behind';
  if (isLater(file, signed)) return 'database-behind';
  return signed.root === file.root ? 'agree' : 'database-changed';
}

/** As its checkpoint says it, whatever the columns beside that do. Null: that key did not sign it. */
function opened(held: SignedAuditTree, key: string): SignedAuditTree | null {
  try {
    const verifier = parseVerifierKey(key);
    if (!Buffer.from(verifier.publicKey).equals(parseVerifierKey(held.verifierKey).publicKey)) return null;
    const { size, root } = openCheckpoint(Buffer.from(held.note), held.origin, [
      renamedVerifier(verifier, held.origin),
    ]);
    return { ...held, size, root: Buffer.from(root).toString('base64') };
  } catch (error) {
    if (error instanceof FairleadError) return null;
    throw error;
  }
}

function isLater(one: SignedAuditTree, other: SignedAuditTree): boolean {
  return one.incarnation === other.incarnation ? one.size > other.size : one.incarnation > other.incarnation;
}
