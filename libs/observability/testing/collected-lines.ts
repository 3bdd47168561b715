import type { LogFields, Logger } from '../index.js';

/** What was logged, at whatever level. */
export interface CollectedLine extends LogFields {
  readonly event: string;
}

/** A logger that keeps its lines. */
export function collectLines(): { readonly logger: Logger; readonly lines: CollectedLine[] } {
  const lines: CollectedLine[] = [];
  const collect = (event: string, fields: LogFields = {}): void => void lines.push({ ...fields, event });
  const logger: Logger = {
    log: (_level, event, fields) => collect(event, fields),
    debug: collect,
    info: collect,
    warn: collect,
    error: collect,
    with: () => logger,
  };
  return { logger, lines };
}
