import { mkdir } from 'node:fs/promises';
import { failure } from '../failure.js';
import { loginPath } from './login-store.js';

/** Longer than a renewal takes; who has not shown a sign of life for so long was killed. */
const STALE_MS = 15_000;
const HEARTBEAT_MS = 3_000;
const WAIT_MS = { forRetries: 150, min: 100, max: 250 };

/**
 * Does something with the stored login that no other process of this home does at the same time. `whenBusy: 'give-up'` answers undefined where
 * another one is at it; `'wait'` waits for its turn: UNAVAILABLE if that does not come within half a minute.
 */
export async function withLoginLock<T>(
  home: string,
  whenBusy: 'wait' | 'give-up',
  work: () => Promise<T>,
): Promise<T | undefined> {
  const release = await lockLogin(home, whenBusy);
  if (!release) return undefined;
  try {
    return await work();
  } finally {
    // Gone already, if this process slept so long that another one took it over.
    await release().catch(() => undefined);
  }
}

async function lockLogin(home: string, whenBusy: 'wait' | 'give-up'): Promise<(() => Promise<void>) | undefined> {
  await mkdir(home, { recursive: true, mode: 0o700 });
  // Loaded only here: nothing else needs it.
  const { lock } = (await import('proper-lockfile')).default;
  const retries = whenBusy === 'give-up' ? 0 : retriesOf(WAIT_MS);
  try {
    // What is replaced by a rename may not be there for a moment, or at all.
    return await lock(loginPath(home), {
      realpath: false,
      stale: STALE_MS,
      update: HEARTBEAT_MS,
      retries,
      // Its default throws out of a timer. What is written is written at once, whoever was first.
      onCompromised: () => undefined,
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOCKED') {
      throw failure('INTERNAL', `cannot lock ${loginPath(home)}`, 'check the folder and its permissions', error);
    }
    if (whenBusy === 'give-up') return undefined;
    throw failure('UNAVAILABLE', 'another fairlead is busy with the login', 'try again', error);
  }
}

function retriesOf({ forRetries: retries, min: minTimeout, max: maxTimeout }: typeof WAIT_MS): object {
  return { retries, minTimeout, maxTimeout, factor: 1, randomize: true };
}
