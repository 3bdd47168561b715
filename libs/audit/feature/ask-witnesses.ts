import { fullJitterMs } from '@fairlead/clock';
import { keysRpc, type AuditWitness } from '@fairlead/contracts';
import { FairleadError, messageOf } from '@fairlead/errors';
import { RunLoop } from '@fairlead/loop';
import type { RpcClient } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import { inTransaction, readFrom } from '@fairlead/persistence';
import {
  addSignatures,
  cosignByWitness,
  cosignedAt,
  type NoteSignature,
  type Witness,
  type WitnessAnswer,
} from '@fairlead/transparency-log';
import type { DataSource } from 'typeorm';
import { TilesOfDatabase } from '../store/tile-store.js';
import { findTree, lockTree, treesToWitness, type StoredTree } from '../store/tree-store.js';
import {
  claimWitnessing,
  findCosigned,
  findWitnesses,
  releaseWitnessing,
  saveCosigned,
  saveWitness,
  type StoredWitness,
} from '../store/witness-store.js';

/** A witness that is asked, and its key as text, which it is known by. */
export interface AskedWitness extends Witness {
  readonly verifierKey: string;
}

export interface AskWitnessesOptions {
  readonly database: DataSource;
  /** Of `keys`, which has the newest checkpoint. */
  readonly rpc: RpcClient;
  readonly logger: Logger;
  readonly witnesses: readonly AskedWitness[];
  readonly everyMs: number;
  /** For one request to a witness, its answer included. */
  readonly timeoutMs: number;
  readonly now: () => Date;
}

/** One that is away, or refuses, is asked again after at most this. */
const MAX_BACKOFF_MS = 60_000;
/** Logs about which witnesses are asked at once: one that hangs delays the others of these only. */
const LOGS_AT_ONCE = 8;
/** What a witness needs at most: it may be asked twice. */
const REQUESTS = 2;
/** For the proofs, and what is written down. */
const BESIDES_MS = 15_000;

/**
 * Has witnesses cosign what `keys` signed (C2SP tlog-witness): all that are due about the same checkpoint, so that a quorum is of one. Each is asked again when the log has grown; after it
 * refused or was away, with full jitter. Created running; dispose of it to stop.
 */
export function askWitnesses(options: AskWitnessesOptions): RunLoop {
  const { database, logger, everyMs, now } = options;
  return new RunLoop({
    intervalMs: everyMs,
    jitter: 0.1,
    work: async (signal) => {
      const trees = await readFrom(database, (manager) => treesToWitness(manager, now()));
      for (let first = 0; first < trees.length; first += LOGS_AT_ONCE)
        await Promise.all(trees.slice(first, first + LOGS_AT_ONCE).map((tree) => askAbout(options, tree, signal)));
    },
    onFailed: (error) => logger.warn('audit_log.not_witnessed', { reason: messageOf(error) }),
  });
}

/** A log about which nobody can be asked keeps no other tenant's from it. */
async function askAbout(options: AskWitnessesOptions, tree: StoredTree, signal: AbortSignal): Promise<void> {
  const { database, timeoutMs, now, logger } = options;
  const { tenantId } = tree;
  try {
    if ((await dueOf(options, tree)).due.length === 0) return;
    const until = new Date(now().getTime() + REQUESTS * timeoutMs + BESIDES_MS);
    if (!(await inTransaction(database, (manager) => claimWitnessing(manager, tenantId, now(), until)))) return;
    await askAll(options, tenantId, signal);
    await inTransaction(database, (manager) => releaseWitnessing(manager, tenantId, until, now()));
  } catch (error) {
    if (signal.aborted) return;
    logger.warn('audit_log.not_witnessed', { tenantId, reason: messageOf(error) });
  }
}

/** Who has not cosigned what is signed, and may be asked again. */
async function dueOf({ database, witnesses, now }: AskWitnessesOptions, tree: StoredTree) {
  const known = await readFrom(database, (manager) => findWitnesses(manager, tree));
  const isDue = ({ verifierKey }: AskedWitness): boolean => {
    const before = known.get(verifierKey);
    return !before || (before.size < tree.signedSize && before.askAfter.getTime() <= now().getTime());
  };
  return { known, due: witnesses.filter(isDue) };
}

async function askAll(options: AskWitnessesOptions, tenantId: string, signal: AbortSignal): Promise<void> {
  const { database, rpc } = options;
  const { tree: signed } = await rpc.call(keysRpc.auditLog, tenantId, {});
  // Read after it: what is signed is here by then, or it is of another tree, which is said where it is signed.
  const tree = await readFrom(database, (manager) => findTree(manager, tenantId));
  if (!signed || !tree || signed.incarnation !== tree.incarnation || signed.size > tree.size) return;
  const { known, due } = await dueOf(options, tree);
  const asked = { note: Buffer.from(signed.note), size: signed.size };
  const told = await Promise.all(due.map((witness) => askOne(options, tree, { witness, asked, known, signal })));
  await inTransaction(database, async (manager) => {
    // Kept with what others put below the same checkpoint.
    await lockTree(manager, tree.tenantId);
    for (const { stored } of told) await saveWitness(manager, tree, stored);
    const added = told.flatMap(({ signature }) => (signature ? [signature] : []));
    if (added.length === 0) return;
    const before = (await findCosigned(manager, tree)).find(
      ({ checkpoint }) => textOf(checkpoint) === textOf(signed.note),
    );
    const note = addSignatures(before ? Buffer.from(before.checkpoint) : asked.note, added);
    await saveCosigned(manager, tree, { size: asked.size, checkpoint: note.toString('utf8') });
  });
}

/** What is signed, without the signatures. */
const textOf = (note: string): string => note.slice(0, note.lastIndexOf('\n\n'));

interface Question {
  readonly witness: AskedWitness;
  readonly asked: { readonly note: Buffer; readonly size: number };
  readonly known: ReadonlyMap<string, StoredWitness>;
  readonly signal: AbortSignal;
}

interface Told {
  readonly stored: StoredWitness;
  readonly signature?: NoteSignature;
}

async function askOne(
  options: AskWitnessesOptions,
  tree: StoredTree,
  { witness, asked, known, signal }: Question,
): Promise<Told> {
  const { database, timeoutMs, now, everyMs } = options;
  const before = known.get(witness.verifierKey);
  const askedAt = now();
  const lastSize = before?.size ?? 0;
  const question = { checkpoint: asked.note, lastSize, reader: new TilesOfDatabase(database, tree) };
  const answer = await cosignByWitness(witness, question, { signal, timeoutMs }).catch((error: unknown) => {
    signal.throwIfAborted();
    if (error instanceof FairleadError && error.code === 'UNAVAILABLE') return messageOf(error);
    throw error;
  });
  const own = { verifierKey: witness.verifierKey, askedAt };
  if (typeof answer === 'object' && answer.kind === 'cosigned') {
    const cosigned = {
      state: 'cosigned',
      why: '',
      size: asked.size,
      cosignedAt: cosignedAt(answer.signature.signature),
    } as const;
    return { stored: { ...own, ...cosigned, failures: 0, askAfter: askedAt }, signature: answer.signature };
  }
  const [state, why] =
    typeof answer === 'string' ? (['away', answer] as const) : (['refused', whyNot(answer)] as const);
  const failures = (before?.failures ?? 0) + 1;
  const waitMs = everyMs + fullJitterMs(failures - 1, { baseMs: everyMs, capMs: MAX_BACKOFF_MS });
  tell(options.logger, { tenantId: tree.tenantId, witness: witness.key.name, size: asked.size, why }, state, before);
  const stored = { ...own, state, why: why.slice(0, 512), size: lastSize, cosignedAt: before?.cosignedAt ?? null };
  return { stored: { ...stored, failures, askAfter: new Date(askedAt.getTime() + waitMs) } };
}

function whyNot(answer: Exclude<WitnessAnswer, { readonly kind: 'cosigned' }>): string {
  if (answer.kind === 'at-other-size')
    return `it has cosigned ${answer.size} entries of this log, which lost some since or is another one`;
  const says: Record<typeof answer.why, string> = {
    fork: 'this log does not go on from the one that it cosigned: it was rewritten, or is a fork',
    'unknown-log': 'it does not know a log of this origin: whoever runs it has to add it',
    'untrusted-key': 'it does not know the key of this log: whoever runs it has to add it',
    malformed: 'it takes the request for none',
    other: 'it does not cosign now',
  };
  return `${says[answer.why]} (HTTP ${answer.status})`;
}

/** Once for each change: they are asked again and again. */
function tell(
  logger: Logger,
  fields: Readonly<Record<string, string | number>>,
  state: AuditWitness['state'],
  before: StoredWitness | undefined,
): void {
  if (before?.state === state) return;
  // Whoever refuses has seen something else than what is here.
  if (state === 'refused') logger.error('audit_log.witness_refused', fields);
  else logger.warn('audit_log.witness_away', fields);
}
