import { systemClock } from '@fairlead/clock';
import { messageOf } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import type { CurrentCa } from './current-ca.js';
import { forgetEnded, forgetRemoved, type ForgetOptions } from './forget-ended.js';

const INTERVAL_MS = 3_600_000;

/**
 * Replaces issuing CAs in time where nothing is signed that would do it, warns of those that only a person can replace, and forgets
 * certificates that ended, and deploy keys that were removed, long ago.
 */
export function keepUp(ca: CurrentCa, options: ForgetOptions, logger: Logger): AsyncDisposable {
  const stop = new AbortController();
  const running = (async () => {
    while (!stop.signal.aborted) {
      ca.warn();
      await ca.upkeep().catch((error: unknown) => logger.warn('ca.upkeep_failed', { reason: messageOf(error) }));
      // A process may have died after it revoked, and before it told.
      await ca
        .publishRevokedGateways()
        .catch((error: unknown) => logger.warn('ca.revocations_not_told', { reason: messageOf(error) }));
      await forget(options, logger);
      // Stopping ends a sleep early, and the loop's condition sees that.
      await systemClock.sleep(INTERVAL_MS, stop.signal).catch(() => undefined);
    }
  })();
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}

async function forget(options: ForgetOptions, logger: Logger): Promise<void> {
  try {
    const count = await forgetEnded(options);
    if (count > 0) logger.info('certificates.forgotten', { count });
    const keys = await forgetRemoved(options);
    if (keys > 0) logger.info('deploy_keys.forgotten', { count: keys });
  } catch (error) {
    logger.warn('certificates.forget_failed', { reason: messageOf(error) });
  }
}
