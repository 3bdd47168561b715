import { once } from 'node:events';
import { FairleadError, messageOf, type LogLevel } from '@fairlead/errors';
import { createLogger, type Logger } from '@fairlead/observability';
import { replacePeerReading } from '@fairlead/pki/peer-reading';
import { printable } from './load-config.js';

export interface ProcessDefinition<Config extends { readonly FAIRLEAD_LOG_LEVEL: LogLevel }> {
  readonly name: string;
  readonly readConfig: (env: NodeJS.ProcessEnv) => Config;
  /** Runs until the signal, then ends what it began and resolves. */
  readonly run: Run<Config>;
  /** How long it may take to end once it is told to; default 20 s. */
  readonly shutdownMs?: (config: Config) => number;
  /** What else it does when its first argument names it, such as `migrate`. */
  readonly commands?: Readonly<Record<string, Run<Config>>>;
}

type Run<Config> = (config: Config, logger: Logger, signal: AbortSignal) => Promise<void>;

/** After SIGTERM or SIGINT a process has this long to end by itself. */
const SHUTDOWN_MS = 20_000;

/**
 * The life of a process: read the configuration, run until SIGTERM or SIGINT, end in order. Exit codes: 0 done or asked to
 * stop, 1 failed, 2 something that only a person can put right, such as the configuration (every problem is printed).
 */
export async function runProcess<Config extends { readonly FAIRLEAD_LOG_LEVEL: LogLevel }>(
  definition: ProcessDefinition<Config>,
): Promise<void> {
  const { name, readConfig, shutdownMs = () => SHUTDOWN_MS } = definition;
  let config: Config;
  let run: Run<Config>;
  try {
    run = chosen(definition, process.argv[2]);
    config = readConfig(process.env);
  } catch (error) {
    process.stderr.write(`fairlead ${name}: ${messageOf(error)}\n`);
    process.exitCode = 2;
    return;
  }
  const logger = createLogger(name, config.FAIRLEAD_LOG_LEVEL);
  tellCrash(logger);
  if (!replacePeerReading()) logger.warn('tls.peer_reading.of_node', { node: process.version });
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => beginStop(stop, logger, shutdownMs(config)));
  try {
    logger.info('process.starting', { config: printable(config) });
    await run(config, logger, stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) {
      logger.error('process.failed', { reason: messageOf(error), err: error });
      process.exitCode = error instanceof FairleadError && error.code === 'INVALID_ARGUMENT' ? 2 : 1;
    }
  }
  logger.info('process.stopped');
  // Whatever still holds the event loop has had its time.
  setTimeout(() => process.exit(), 1_000).unref();
}

function chosen<Config extends { readonly FAIRLEAD_LOG_LEVEL: LogLevel }>(
  { run, commands = {} }: ProcessDefinition<Config>,
  command: string | undefined,
): Run<Config> {
  if (command === undefined) return run;
  const known = Object.hasOwn(commands, command) ? commands[command] : undefined;
  if (known) return known;
  const names = Object.keys(commands).join(', ');
  throw new FairleadError(
    'INVALID_ARGUMENT',
    `there is no command ${JSON.stringify(command)} (only: ${names || 'none'})`,
  );
}

/** One line of the log for an error that nobody caught. It only listens: Node ends the process, with exit code 1. */
function tellCrash(logger: Logger): void {
  process.on('uncaughtExceptionMonitor', (error: unknown, origin) => {
    logger.error('process.crashed', { origin, reason: messageOf(error), err: error });
  });
}

/** Resolves when the signal is aborted. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

function beginStop(stop: AbortController, logger: Logger, withinMs: number): void {
  stop.abort(new Error('asked to stop'));
  setTimeout(() => {
    logger.error('process.stop_timed_out');
    process.exit(1);
  }, withinMs).unref();
}
