import type { ExportFormat } from './export-formats.js';
import type { LogReader } from './log-reader.js';
import type { StreamAccess } from './stream-access.js';

export interface Exporting {
  readonly log: Pick<LogReader, 'page' | 'end'>;
  readonly access: Pick<StreamAccess, 'check'>;
  readonly format: ExportFormat;
  /** Aborted once the process ends, or nobody reads any more. */
  readonly signal: AbortSignal;
}

/**
 * What is behind `after` and stands in the log by now, page by page, each read when the one before was taken. Whole exports end with the format's trailer, which says how many entries there
 * are and up to which number; it throws where it cannot be whole.
 */
export async function* exportPieces(after: number, exporting: Exporting): AsyncGenerator<string, void, void> {
  const { log, access, format, signal } = exporting;
  // What comes meanwhile is not waited for.
  const end = await log.end();
  let [at, count, piece] = [after, 0, format.header];
  while (at < end) {
    const page = await log.page(at, signal);
    const entries = page.entries.filter(({ number }) => number <= end);
    count += entries.length;
    at = page.next;
    yield piece + format.rows(entries);
    piece = '';
    signal.throwIfAborted();
    await access.check();
  }
  yield piece + format.trailer({ complete: true, count, through: Math.max(after, end) });
}
