import { fullJitterMs } from '@fairlead/clock';
import { createParser } from 'eventsource-parser';
import { isPassing } from '../failure.js';
import { parseJson } from '../session/parse-json.js';
import type { ApiClient } from '../session/api-client.js';
import { AuditEntry } from '../session/audit-answers.js';

/** Heartbeats come more often. */
const IDLE_MS = 45_000;
const BACKOFF = { baseMs: 1_000, capMs: 30_000 };
const MAX_EVENT_CHARACTERS = 4 * 1024 * 1024;

export interface Tail {
  /** With a login that is renewed when it is time: a tail may last longer. */
  readonly withApi: (use: (api: ApiClient) => Promise<void>) => Promise<void>;
  readonly query: string;
  /** Undefined: where the log ends. */
  readonly after: number | undefined;
  readonly onEntry: (entry: AuditEntry) => Promise<void>;
  /** Once for each time that it is about to connect again. */
  readonly onLost: (error: Error) => void;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Follows the log until it fails for something that does not pass; what passes is waited out, and it goes on behind what was heard last, with nothing twice. */
export async function tailLog({ withApi, query, after, onEntry, onLost, sleep }: Tail): Promise<never> {
  let at = after;
  let heardAny = false;
  for (let failures = 0; ; failures += 1) {
    try {
      await withApi(async (api) => {
        for await (const { id, entry } of heard(api, query, at)) {
          failures = 0;
          heardAny = true;
          at = id;
          if (entry) await onEntry(entry);
        }
      });
    } catch (error) {
      // Whoever just asked is told what is wrong.
      if (!isPassing(error) || !heardAny) throw error;
      onLost(error);
    }
    await sleep(fullJitterMs(failures, BACKOFF));
  }
}

interface Heard {
  readonly id: number;
  readonly entry?: AuditEntry;
}

/** What one connection brings, until it ends. */
async function* heard(api: ApiClient, query: string, after: number | undefined): AsyncGenerator<Heard, void, void> {
  const ready: Heard[] = [];
  const parser = createParser({
    maxBufferSize: MAX_EVENT_CHARACTERS,
    onId: (id) => void (/^\d{1,15}$/.test(id) && ready.push({ id: Number(id) })),
    // The reason of an end is what the next connection hears, if it stands.
    onEvent: ({ event, data }) => {
      const entry = event === undefined ? AuditEntry.safeParse(parseJson(data)) : undefined;
      if (entry?.success) ready.push({ id: entry.data.number, entry: entry.data });
    },
  });
  const headers = after === undefined ? {} : { 'last-event-id': String(after) };
  for await (const line of api.lines(`/v1/audit/tail?${query}`, {
    accept: 'text/event-stream',
    headers,
    idleMs: IDLE_MS,
  })) {
    parser.feed(`${line}\n`);
    yield* ready.splice(0);
  }
}
