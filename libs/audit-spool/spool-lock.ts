import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { FairleadError, messageOf } from '@fairlead/errors';

/** Who was killed may still be ending. */
const WAIT_MS = 5_000;
const LOOK_EVERY_MS = 50;
/** https://www.sqlite.org/rescode.html#busy */
const SQLITE_BUSY = 5;

/**
 * Makes a directory this process's alone until the returned function is called, or the process has ended, however that happened: the lock is the kernel's, on
 * an empty file that SQLite keeps locked (https://www.sqlite.org/lockingv3.html), as Node has no call for it. ALREADY_EXISTS while another process has it, said
 * after `waitMs`; UNAVAILABLE where nothing can be locked.
 */
export async function lockSpool(dir: string, waitMs: number = WAIT_MS): Promise<() => void> {
  for (const start = performance.now(); ; await sleep(LOOK_EVERY_MS)) {
    const held = tryLock(dir);
    if (held) return () => held.close();
    if (performance.now() - start < waitMs) continue;
    const why = `another process has the audit spool ${dir}: each gateway needs a directory of its own`;
    throw new FairleadError('ALREADY_EXISTS', why);
  }
}

/** Null: another process has it, or another spool of this one. */
function tryLock(dir: string): DatabaseSync | null {
  let held: DatabaseSync | undefined;
  try {
    held = new DatabaseSync(join(dir, 'owner'));
    // Nothing is ever written, so a full disk is no obstacle.
    held.exec('pragma journal_mode = memory; begin exclusive');
    return held;
  } catch (error) {
    held?.close();
    if ((error as { readonly errcode?: number }).errcode === SQLITE_BUSY) return null;
    const why = `the audit spool ${dir} cannot be locked: ${messageOf(error)}`;
    throw new FairleadError('UNAVAILABLE', why, { cause: error });
  }
}
