import { RunLoop } from '@fairlead/loop';
import type { Runtime } from './runtime.js';
import type { StandingLogins } from './standing-logins.js';

const EVERY_MS = 60_000;

/** Deletes logins, sessions and spent tokens some time after they have lapsed. Dispose of it to stop. */
export function tendLogins({ logger }: Runtime, standing: StandingLogins): RunLoop {
  return new RunLoop({
    turn: () => standing.sweep(),
    intervalMs: EVERY_MS,
    jitter: 0.2,
    onFailed: (err, { repeated }) => logger.log(repeated ? 'debug' : 'warn', 'logins.not_swept', { err }),
  });
}
