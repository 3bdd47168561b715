import { messageOf } from '@fairlead/errors';
import { RunLoop } from '@fairlead/loop';
import type { Logger } from '@fairlead/observability';
import type { CurrentCa } from './current-ca.js';
import { forgetEnded, forgetRemoved, forgetSecrets, type ForgetOptions } from './forget-ended.js';

const INTERVAL_MS = 3_600_000;

/**
 * Replaces issuing CAs in time where nothing is signed that would do it, warns of those that only a person can replace, and forgets
 * certificates that ended, and deploy keys that were removed, long ago.
 */
export function keepUp(ca: CurrentCa, options: ForgetOptions, logger: Logger): AsyncDisposable {
  return new RunLoop({
    intervalMs: INTERVAL_MS,
    onFailed: (error) => logger.warn('ca.upkeep_failed', { reason: messageOf(error) }),
    work: async () => {
      ca.warn();
      await ca.upkeep().catch((error: unknown) => logger.warn('ca.upkeep_failed', { reason: messageOf(error) }));
      // A process may have died after it revoked, and before it told.
      await ca
        .publishRevokedGateways()
        .catch((error: unknown) => logger.warn('ca.revocations_not_told', { reason: messageOf(error) }));
      await forget(options, logger);
    },
  });
}

async function forget(options: ForgetOptions, logger: Logger): Promise<void> {
  try {
    const count = await forgetEnded(options);
    if (count > 0) logger.info('certificates.forgotten', { count });
    const keys = await forgetRemoved(options);
    if (keys > 0) logger.info('deploy_keys.forgotten', { count: keys });
    const secrets = await forgetSecrets(options);
    if (secrets > 0) logger.info('webhook_secrets.forgotten', { count: secrets });
  } catch (error) {
    logger.warn('certificates.forget_failed', { reason: messageOf(error) });
  }
}
