import 'reflect-metadata';
import { FairleadError, messageOf } from '@fairlead/errors';
import { createLogger } from '@fairlead/observability';
import { readConfig, type Config } from './config.js';
import { migrate, serve } from './serve.js';

const EXIT_FAILURE = 1;
/** What only a person can put right; a supervisor need not try again. */
const EXIT_CONFIGURATION = 2;
/** A part that does not stop in time must not keep the process. */
const STOP_MS = 15_000;

process.exitCode = await main(process.argv[2]);

async function main(command: string | undefined): Promise<number> {
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => stopBy(name, stop));
  try {
    if (command !== undefined && command !== 'migrate') {
      throw new FairleadError('INVALID_ARGUMENT', `no such command: ${command} (there is only "migrate")`);
    }
    const config: Config = readConfig(process.env);
    const logger = createLogger('registration', config.FAIRLEAD_LOG_LEVEL);
    await (command === 'migrate' ? migrate : serve)(config, logger, stop.signal);
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return 0;
    process.stderr.write(`registration: ${messageOf(error)}\n`);
    return error instanceof FairleadError && error.code === 'INVALID_ARGUMENT' ? EXIT_CONFIGURATION : EXIT_FAILURE;
  }
}

function stopBy(name: string, stop: AbortController): void {
  setTimeout(() => process.exit(EXIT_FAILURE), STOP_MS).unref();
  stop.abort(new Error(name));
}
