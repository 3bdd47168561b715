import { openCheckpoint, parseVerifierKey, type NoteVerifier, type OpenedCheckpoint } from '@fairlead/transparency-log';
import { failure } from '../failure.js';
import type { AuditLogHead } from '../session/audit-log-answers.js';
import type { KeptCheckpoint } from './kept-checkpoints.js';

export interface VerifiedHead {
  readonly checkpoint: OpenedCheckpoint;
  /** What was verified the last time, of this log or of one that this one goes on from. */
  readonly before: OpenedCheckpoint | undefined;
  /** The key that is believed, and will be the next time. */
  readonly verifierKey: string;
}

/**
 * The checkpoint of a log, signed by a key that is believed: the one that somebody gave, else the one of the last time, else the one that the server names. A log that began anew has another
 * origin, and the same key. UNTRUSTED_PEER; CONFLICT for one that has fewer entries than the last time.
 */
export function verifiedHead(
  head: AuditLogHead,
  { kept, givenKey }: { readonly kept: KeptCheckpoint | undefined; readonly givenKey: string | undefined },
): VerifiedHead {
  const believed = givenKey ?? kept?.verifierKey ?? head.verifierKey;
  const verifierKey = isSameKey(believed, head.verifierKey) ? head.verifierKey : believed;
  const checkpoint = openCheckpoint(Buffer.from(head.checkpoint), head.origin, [parseVerifierKey(verifierKey)]);
  const before = kept && openKept(kept, believed);
  if (before && before.origin === checkpoint.origin && before.size > checkpoint.size) {
    throw failure(
      'CONFLICT',
      `the log shows ${checkpoint.size} entries, and ${before.size} of it were verified before`,
      'a server that shows an old log, or one from which entries were taken: keep the file with the older checkpoint as evidence',
    );
  }
  return { checkpoint, before, verifierKey };
}

/** Whether two of them are the same key, whatever it is called: its name is the log's origin. */
export function isSameKey(left: string, right: string): boolean {
  const [one, other] = [parseVerifierKey(left), parseVerifierKey(right)];
  return one.type === other.type && Buffer.from(one.publicKey).equals(other.publicKey);
}

/** What was verified the last time is believed by the key of then, if that is the one that is believed now. */
function openKept({ checkpoint, origin, verifierKey }: KeptCheckpoint, believed: string): OpenedCheckpoint {
  const key: NoteVerifier = parseVerifierKey(isSameKey(verifierKey, believed) ? verifierKey : believed);
  return openCheckpoint(Buffer.from(checkpoint), origin, [key]);
}
