import { join } from 'node:path';
import { FairleadError, messageOf } from '@fairlead/errors';
import lockfile from 'proper-lockfile';

/** Who has not shown a sign of life for so long was killed; a process that is started again waits as long. */
const STALE_MS = 5_000;
const HEARTBEAT_MS = 1_000;
const WAITS = { retries: 30, factor: 1, minTimeout: 200, maxTimeout: 250 };

/**
 * Makes a directory this process's alone. ALREADY_EXISTS while another one has it, said after some seconds: it may have been killed just now.
 * `onLost`: another process took it, as this one stood still for too long.
 */
export async function lockSpool(dir: string, onLost: (error: Error) => void): Promise<() => Promise<void>> {
  try {
    return await lockfile.lock(dir, {
      lockfilePath: join(dir, 'lock'),
      realpath: false,
      stale: STALE_MS,
      update: HEARTBEAT_MS,
      retries: WAITS,
      onCompromised: onLost,
    });
  } catch (error) {
    const isTaken = (error as NodeJS.ErrnoException).code === 'ELOCKED';
    const why = isTaken
      ? `another process has the audit spool ${dir}: each gateway needs a directory of its own`
      : `the audit spool ${dir} cannot be locked: ${messageOf(error)}`;
    throw new FairleadError(isTaken ? 'ALREADY_EXISTS' : 'UNAVAILABLE', why, { cause: error });
  }
}
