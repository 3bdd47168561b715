import { describeProblem, verifyLog, type OpenedCheckpoint, type WitnessPolicy } from '@fairlead/transparency-log';
import { failure } from '../failure.js';
import type { ApiClient } from '../session/api-client.js';
import { AuditLogHead } from '../session/audit-log-answers.js';
import { checkpointsIn, readCheckpointFile } from './checkpoint-file.js';
import type { KeptCheckpoint } from './kept-checkpoints.js';
import { ExportFile, type ExportVerdict } from './export-file.js';
import { Lineage, type EarlierLog } from './lineage.js';
import { cosignedOf, type Cosigned } from './quorum.js';
import { TilesOverApi } from './tiles-over-api.js';
import { verifiedHead } from './verified-head.js';
import { verifyBodies } from './verify-bodies.js';

export const HEAD = '/v1/audit/log';

export interface VerifyQuestion {
  readonly givenKey: string | undefined;
  readonly kept: KeptCheckpoint | undefined;
  readonly policy: WitnessPolicy | undefined;
  /** For how long witnesses are waited for. */
  readonly waitMs: number;
  /** Files with checkpoints that left the database. */
  readonly files: readonly string[];
  /** A file that `audit export` wrote, to be held to the log. */
  readonly exported: string | undefined;
  readonly onProgress: (text: string) => void;
}

export interface VerifiedLog {
  readonly checkpoint: OpenedCheckpoint;
  /** To be kept for the next time. */
  readonly keep: KeptCheckpoint;
  readonly verified: number;
  readonly erased: number;
  /** How many entries were verified the last time. */
  readonly before: OpenedCheckpoint | undefined;
  /** How many of these are gone at most, with a log that could not go on. */
  readonly gone: number;
  readonly earlier: readonly EarlierLog[];
  readonly cosigned: Cosigned | undefined;
  /** Of the files. */
  readonly exported: ExportVerdict | undefined;
  readonly held: { readonly checkpoints: number; readonly ofLost: number };
}

/** Verifies all of a log without believing the server. CONFLICT names what is wrong; where enough witnesses did not cosign it, that too. */
export async function verifyWholeLog(api: ApiClient, question: VerifyQuestion): Promise<VerifiedLog> {
  // Before the head: `keys` may sign meanwhile, and the head then has more than the files, never fewer.
  const files = await Promise.all(question.files.map(readCheckpointFile));
  const head = await api.ask(AuditLogHead, HEAD);
  const { checkpoint: shown, before, verifierKey } = verifiedHead(head, question);
  const fromFiles = files.flatMap((file) => checkpointsIn(file, verifierKey));
  const { policy, waitMs } = question;
  const cosigned = policy && (await cosignedOf(api, { policy, head: shown, verifierKey, waitMs }));
  const checkpoint = cosigned?.newest ?? shown;
  const notCosigned = cosigned && !cosigned.newest ? notEnough(shown, cosigned) : undefined;
  const isOfThis = ({ origin }: OpenedCheckpoint): boolean => origin === checkpoint.origin;
  const seen = [...(before ? [before] : []), ...fromFiles];
  const tooLarge = fromFiles.find((each) => isOfThis(each) && each.size > checkpoint.size);
  if (tooLarge)
    throw broken(`${tooLarge.size} entries of it were signed, and it shows ${checkpoint.size}`, notCosigned);
  const tiles = new TilesOverApi(api);
  const known = [...seen.filter(isOfThis), ...(cosigned?.all ?? []), shown, checkpoint];
  const verdict = await verifyLog(
    tiles,
    known.filter(({ size }) => size <= checkpoint.size),
  );
  // The first record of the tree is entry 1.
  if (!verdict.ok) throw broken(`entry ${verdict.index + 1}: ${describeProblem(verdict)}`, notCosigned);
  const { size } = checkpoint;
  const file = question.exported === undefined ? undefined : new ExportFile(question.exported);
  const bodies = await verifyBodies(api, tiles, size, (number) => question.onProgress(`${number} of ${size}`), file);
  if (bodies.otherInExport !== undefined) throw notAsLogged(bodies.otherInExport, question.exported);
  if (bodies.bad) throw broken(`entry ${bodies.bad.number} ${bodies.bad.why}`, notCosigned);
  const { statements, erased, verified } = bodies;
  const lineage = Lineage.of({ tiles, checkpoint, incarnation: head.incarnation, verifierKey, statements, erased });
  if (typeof lineage === 'string') throw broken(lineage, notCosigned);
  const gone = await heldTo(
    lineage,
    seen.filter((each) => !isOfThis(each)),
    notCosigned,
  );
  if (notCosigned !== undefined)
    throw failure(
      'CONFLICT',
      notCosigned,
      'ask whoever runs the witnesses what they saw, and: fairlead audit witnesses',
    );
  return {
    checkpoint,
    keep: { origin: head.origin, verifierKey, checkpoint: head.checkpoint },
    verified,
    erased,
    before,
    gone: before ? (gone.get(before) ?? 0) : 0,
    earlier: lineage.earlier,
    cosigned,
    exported: await file?.verdict(size),
    held: { checkpoints: fromFiles.length, ofLost: fromFiles.filter((each) => (gone.get(each) ?? 0) > 0).length },
  };
}

/** How many entries each of these was of that are gone. */
async function heldTo(
  lineage: Lineage,
  checkpoints: readonly OpenedCheckpoint[],
  notCosigned: string | undefined,
): Promise<ReadonlyMap<OpenedCheckpoint, number>> {
  const gone = new Map<OpenedCheckpoint, number>();
  for (const each of checkpoints) {
    const held = await lineage.hold(each);
    if (typeof held === 'string') throw broken(held, notCosigned);
    gone.set(each, held);
  }
  return gone;
}

function notEnough({ size }: OpenedCheckpoint, { all, by }: Cosigned): string {
  const last = Math.max(0, ...all.map((each) => each.size));
  const upTo = last > 0 ? `; up to ${last} they were` : '';
  return `the ${size} entries that the log shows were not cosigned by enough witnesses${upTo}: ${by.join('; ')}`;
}

function notAsLogged(number: number, file = ''): Error {
  return failure(
    'CONFLICT',
    `entry ${number} of ${file} is not what was logged`,
    `the log has it as: fairlead audit show ${number}; the file was changed, or whoever made it was told something else`,
  );
}

function broken(what: string, notCosigned: string | undefined): Error {
  const also = notCosigned === undefined ? '' : `; and ${notCosigned}`;
  return failure(
    'CONFLICT',
    `the audit log was tampered with, or damaged: ${what}${also}`,
    'keep the database as it is, and see docs/runbooks/audit-log-broken.md',
  );
}
