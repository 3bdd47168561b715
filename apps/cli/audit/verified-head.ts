import { openCheckpoint, parseVerifierKey, type OpenedCheckpoint } from '@fairlead/transparency-log';
import { failure } from '../failure.js';
import type { KeptCheckpoint } from './kept-checkpoints.js';
import type { AuditLogHead } from './log-answers.js';

export interface VerifiedHead {
  readonly checkpoint: OpenedCheckpoint;
  /** What was verified the last time; a log that was rewritten since does not go on from it. */
  readonly before: OpenedCheckpoint | undefined;
  /** The key that is believed, and will be the next time. */
  readonly verifierKey: string;
}

/**
 * The checkpoint of a log, signed by a key that is believed: the one that somebody gave, else the one of the last time, else the one that the server names. UNTRUSTED_PEER; CONFLICT for another log than
 * the one of the last time.
 */
export function verifiedHead(
  head: AuditLogHead,
  { kept, givenKey }: { readonly kept: KeptCheckpoint | undefined; readonly givenKey: string | undefined },
): VerifiedHead {
  if (kept && kept.origin !== head.origin) {
    throw failure(
      'CONFLICT',
      `this is another log, ${head.origin}, than the one that was verified before, ${kept.origin}`,
      'find out why: fairlead audit search --type audit-log.begun-anew; then verify with --anew',
    );
  }
  const verifierKey = givenKey ?? kept?.verifierKey ?? head.verifierKey;
  const keys = [parseVerifierKey(verifierKey)];
  const checkpoint = openCheckpoint(Buffer.from(head.checkpoint), head.origin, keys);
  const before = kept && openCheckpoint(Buffer.from(kept.checkpoint), head.origin, keys);
  if (before && before.size > checkpoint.size) {
    throw failure(
      'CONFLICT',
      `the log shows ${checkpoint.size} entries, and ${before.size} of it were verified before`,
      'a server that shows an old log, or one from which entries were taken: keep the file with the older checkpoint as evidence',
    );
  }
  return { checkpoint, before, verifierKey };
}
