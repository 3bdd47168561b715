import { mkdir, open, readFile, readdir, rename, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { TenantId, type SignedAuditTree } from '@fairlead/contracts';
import { FairleadError, messageOf } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import { openCheckpoint, parseVerifierKey } from '@fairlead/transparency-log';
import { z } from 'zod';

/** A line of these files: a checkpoint, and what else it takes to verify it. */
const WrittenCheckpoint = z.strictObject({
  version: z.literal(1),
  tenantId: TenantId,
  incarnation: z.int().min(1),
  origin: z.string().min(1),
  signedAt: z.iso.datetime(),
  verifierKey: z.string().min(1),
  checkpoint: z.string().min(1),
});
type WrittenCheckpoint = z.infer<typeof WrittenCheckpoint>;

interface Options {
  /** Of all replicas, if there are several. */
  readonly dir: string;
  readonly logger: Logger;
  readonly now: () => Date;
}

const LAST = 'last.json';
/** Of a log that always grows, so often a line of the day's file, and of our own log. */
const HISTORY_EVERY_MS = 900_000;
/** A day has a hundred lines at most, and more only where `keys` is restarted again and again. */
const MAX_DAY_BYTES = 1_048_576;
const HISTORY_DAYS = 400;
const DAY_MS = 86_400_000;
const DAY_FILE = /^(\d{4}-\d{2}-\d{2})\.jsonl$/;
/** Whoever takes the files elsewhere may be somebody else. Nothing in them is secret. */
const [FILE_MODE, DIR_MODE] = [0o644, 0o755];

/**
 * The checkpoints of audit logs, outside the database: in a directory for each tenant the newest one (`last.json`), and a file for each day (`2026-03-01.jsonl`) to which one is added every
 * quarter of an hour. What is written is durable. A line: `{"version":1,"tenantId","incarnation","origin","signedAt","verifierKey","checkpoint"}`.
 */
export class CheckpointFiles {
  /** By tenant, when a line was added to a file of a day. */
  readonly #addedMs = new Map<string, number>();

  constructor(private readonly options: Options) {}

  /**
   * What was written last of a tenant's log; null: nothing. Its checkpoint is one of the key that it names. CONFLICT for a file that cannot be read, or is of something else: without it
   * nobody would see that the log was set back.
   */
  async last(tenantId: string): Promise<SignedAuditTree | null> {
    const path = join(this.options.dir, tenantId, LAST);
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw unreadable(path, error);
    }
    try {
      return treeOf(tenantId, WrittenCheckpoint.parse(JSON.parse(text)));
    } catch (error) {
      throw unreadable(path, error);
    }
  }

  /** Durable when it returns. UNAVAILABLE where it cannot be written. */
  async write(tenantId: string, tree: SignedAuditTree): Promise<void> {
    const { dir, now } = this.options;
    const { incarnation, origin, verifierKey, note: checkpoint } = tree;
    const signedAt = now().toISOString();
    const written: WrittenCheckpoint = { version: 1, tenantId, incarnation, origin, signedAt, verifierKey, checkpoint };
    const line = `${JSON.stringify(written)}\n`;
    try {
      const folder = join(dir, tenantId);
      await mkdir(folder, { recursive: true, mode: DIR_MODE });
      await replaceFile(folder, LAST, line);
      await this.#remember(folder, written, line);
    } catch (cause) {
      throw new FairleadError('UNAVAILABLE', `the checkpoint cannot be written to ${dir}: ${messageOf(cause)}`, {
        cause,
      });
    }
  }

  /** The first one of each quarter of an hour is for good, and stands in our own log, too: that leaves this machine by another way. */
  async #remember(folder: string, written: WrittenCheckpoint, line: string): Promise<void> {
    const { tenantId, origin, checkpoint, signedAt } = written;
    const atMs = Date.parse(signedAt);
    if (atMs - (this.#addedMs.get(tenantId) ?? -Infinity) < HISTORY_EVERY_MS) return;
    await addLine(join(folder, `${signedAt.slice(0, 10)}.jsonl`), line);
    await forgetDays(folder, atMs);
    this.#addedMs.set(tenantId, atMs);
    this.options.logger.info('audit_log.signed', { tenantId, origin, checkpoint });
  }
}

function treeOf(tenantId: string, written: WrittenCheckpoint): SignedAuditTree {
  const { incarnation, origin, verifierKey, checkpoint: note } = written;
  if (written.tenantId !== tenantId) throw new Error(`it is of the tenant ${written.tenantId}`);
  const { size, root } = openCheckpoint(Buffer.from(note), origin, [parseVerifierKey(verifierKey)]);
  return { incarnation, origin, verifierKey, note, size, root: Buffer.from(root).toString('base64') };
}

/** The old one or the new one, whenever the machine stops. */
async function replaceFile(folder: string, name: string, text: string): Promise<void> {
  const path = join(folder, name);
  const fresh = `${path}.new`;
  await written(await open(fresh, 'w', FILE_MODE), text);
  await rename(fresh, path);
  await syncFolder(folder);
}

async function addLine(path: string, line: string): Promise<void> {
  const file = await open(path, 'a', FILE_MODE);
  const { size } = await file.stat();
  if (size + line.length > MAX_DAY_BYTES) return file.close();
  await written(file, line);
  if (size === 0) await syncFolder(join(path, '..'));
}

async function written(file: FileHandle, text: string): Promise<void> {
  try {
    await file.writeFile(text);
    await file.datasync();
  } finally {
    await file.close();
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function forgetDays(folder: string, nowMs: number): Promise<void> {
  const oldest = new Date(nowMs - HISTORY_DAYS * DAY_MS).toISOString().slice(0, 10);
  for (const name of await readdir(folder)) {
    const [, day] = DAY_FILE.exec(name) ?? [];
    if (day !== undefined && day < oldest) await rm(join(folder, name), { force: true });
  }
}

function unreadable(path: string, cause: unknown): FairleadError {
  const what = `${path} has the checkpoint that was signed last, and cannot be read: ${messageOf(cause)}`;
  return new FairleadError('CONFLICT', what, { cause });
}
