import { RunLoop } from '@fairlead/loop';
import type { Runtime } from './runtime.js';
import type { StandingLogins } from './standing-logins.js';

const EVERY_MS = 60_000;

/** Deletes logins, sessions and spent tokens some time after they have lapsed, and forgets who was not seen for long. Dispose of it to stop. */
export function tendLogins({ logger }: Runtime, standing: StandingLogins): RunLoop {
  return new RunLoop({
    work: async () => ((await standing.sweep()) ? 0 : undefined),
    intervalMs: EVERY_MS,
    jitter: 0.2,
    onFailed: (err, { repeated }) => logger.log(repeated ? 'debug' : 'warn', 'logins.not_swept', { err }),
  });
}
