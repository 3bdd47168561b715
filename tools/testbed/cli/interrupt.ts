import { TestbedError } from '../errors.js';

/** Aborts at the first SIGINT or SIGTERM; a second one ends the process at once, as it would without this. */
export function onInterrupt(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => controller.abort(new TestbedError(`interrupted by ${name}`)));
  }
  return controller.signal;
}
