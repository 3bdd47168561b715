import { printable } from '@fairlead/config';
import { messageOf } from '@fairlead/errors';
import { createLogger } from '@fairlead/observability';
import { readConfig, type ApiConfig } from './config.js';
import { runApi } from './run-api.js';

const SHUTDOWN_MS = 15_000;

const config = configOrExit();
const logger = createLogger('api', config.FAIRLEAD_LOG_LEVEL);
const stop = new AbortController();
for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => shutDown());

try {
  logger.info('api.starting', { config: printable(config) });
  await runApi(config, logger, stop.signal);
} catch (error) {
  if (!stop.signal.aborted) {
    logger.error('api.failed', { reason: messageOf(error), err: error });
    process.exitCode = 1;
  }
}

function configOrExit(): ApiConfig {
  try {
    return readConfig(process.env);
  } catch (error) {
    process.stderr.write(`fairlead api: ${messageOf(error)}\n`);
    return process.exit(1);
  }
}

function shutDown(): void {
  stop.abort(new Error('asked to stop'));
  setTimeout(() => {
    logger.error('api.stop_timed_out');
    process.exit(1);
  }, SHUTDOWN_MS).unref();
}
