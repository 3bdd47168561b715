import type { AuditEntry } from '@fairlead/contracts';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import type { LogReader } from './log-reader.js';
import type { StreamAccess } from './stream-access.js';

export interface Tailing {
  readonly log: Pick<LogReader, 'page' | 'end'>;
  readonly access: Pick<StreamAccess, 'check'>;
  /** Resolves when the log is longer than `at`, or a heartbeat is due. */
  readonly untilMore: (at: number) => Promise<void>;
  /** Aborted once the process ends, or nobody listens any more. */
  readonly signal: AbortSignal;
}

/**
 * A log as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html): an event for each entry behind `after`, with its number as its id; without
 * `after`, what comes from now on. A listener holds one page at most: the next is read once that is sent, and the log itself is the queue. The comment `at N` says that all
 * up to N was sent, and its id lets a listener whose filter leaves little go on there. It ends with the event `end`, which says why, when access ends or the process does.
 */
export async function* tailEvents(after: number | undefined, tailing: Tailing): AsyncGenerator<string, void, void> {
  const { log, access, untilMore, signal } = tailing;
  // The first answer may still be a problem with a status of its own.
  let at = after ?? (await log.end());
  let begun = false;
  try {
    for (;;) {
      const { entries, next, size } = await log.page(at, signal);
      at = next;
      const events = (begun ? '' : RETRY) + entries.map(eventOf).join('');
      begun = true;
      yield next < size ? events : `${events}: at ${at}\nid: ${at}\n\n`;
      if (next >= size) await untilMore(at);
      signal.throwIfAborted();
      await access.check();
    }
  } catch (error) {
    if (!begun) throw error;
    yield endOf(toFairleadError(signal.aborted ? signal.reason : error));
  }
}

/** How long a browser waits before it connects again. */
const RETRY = 'retry: 2000\n\n';

function eventOf(entry: AuditEntry): string {
  return `id: ${entry.number}\ndata: ${JSON.stringify(entry)}\n\n`;
}

function endOf({ code, kind, message }: FairleadError): string {
  const detail = code === 'INTERNAL' ? kind.safeMessage : message;
  return `event: end\ndata: ${JSON.stringify({ code, detail, retryable: kind.retryable })}\n\n`;
}
