import { type LogLevel } from '@fairlead/errors';
import { pino, type DestinationStream } from 'pino';

export type LogFields = Readonly<Record<string, unknown>>;

/**
 * One line per event: a dotted event name and fields. Never a payload, never a token. `err` takes an Error.
 */
export interface Logger {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  log(level: LogLevel, event: string, fields?: LogFields): void;
  /** A logger that adds these fields to each line. */
  with(fields: LogFields): Logger;
}

/** JSON lines on standard output: `{"level":"info","time":"…","service":"gateway","event":"…",…}`. */
export function createLogger(service: string, level: LogLevel = 'info', destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    messageKey: 'event',
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return wrap(destination ? pino(options, destination) : pino(options));
}

/** Says nothing; for tests and tools. */
export const silentLogger: Logger = wrap(pino({ enabled: false }));

function wrap(sink: ReturnType<typeof pino>): Logger {
  const log = (level: LogLevel, event: string, fields: LogFields = {}): void => sink[level](fields, event);
  return {
    log,
    debug: (event, fields) => log('debug', event, fields),
    info: (event, fields) => log('info', event, fields),
    warn: (event, fields) => log('warn', event, fields),
    error: (event, fields) => log('error', event, fields),
    with: (fields) => wrap(sink.child(fields)),
  };
}
