import { fullJitterMs } from '@fairlead/clock';
import { FairleadError, messageOf } from '@fairlead/errors';
import { z } from 'zod';
import { failure, isPassing, passing } from '../failure.js';
import { parseJson } from '../session/parse-json.js';
import type { ApiClient } from '../session/api-client.js';

/** The server reads each page within less. */
const IDLE_MS = 60_000;
/** One after another without anything new in between. */
const MAX_FAILURES = 5;
const BACKOFF = { baseMs: 500, capMs: 10_000 };

export const EXPORT_FORMATS = ['ndjson', 'csv'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

export interface Export {
  readonly withApi: (use: (api: ApiClient) => Promise<void>) => Promise<void>;
  readonly query: string;
  readonly after: number;
  readonly format: ExportFormat;
  /** One line, without its line feed; resolves when there is room for the next. */
  readonly write: (line: string) => Promise<void>;
  readonly sleep: (ms: number) => Promise<void>;
}

interface Progress {
  at: number;
  count: number;
  hasHeading: boolean;
  isWhole: boolean;
}

/** Writes the log, and at its end the trailer of a whole export, with the count of all. Where it breaks off it goes on behind the last entry. UNAVAILABLE if it cannot be whole. */
export async function exportLog(given: Export): Promise<void> {
  const { withApi, after, sleep } = given;
  const progress: Progress = { at: after, count: 0, hasHeading: false, isWhole: false };
  for (let failures = 0; !progress.isWhole;) {
    const before = progress.at;
    try {
      await withApi((api) => copy(api, given, progress));
    } catch (error) {
      failures = progress.at > before ? 1 : failures + 1;
      if (!isPassing(error) || failures >= MAX_FAILURES) throw notWhole(error, progress);
      await sleep(fullJitterMs(failures, BACKOFF));
    }
  }
}

async function copy(api: ApiClient, { query, format, write }: Export, progress: Progress): Promise<void> {
  const path = `/v1/audit/export?${query}&after=${progress.at}&format=${format}`;
  const { mediaType, read, trailer } = READING[format];
  let count = 0;
  for await (const line of api.lines(path, { accept: mediaType, idleMs: IDLE_MS })) {
    const { kind, number } = read(line);
    if (kind === 'trailer') {
      if (number !== count) break;
      await write(trailer(line, progress.count));
      progress.isWhole = true;
      return;
    }
    if (kind === 'heading' && progress.hasHeading) continue;
    await write(line);
    if (kind === 'heading') progress.hasHeading = true;
    else {
      count += 1;
      progress.count += 1;
      progress.at = number;
    }
  }
  // A proxy that breaks off may look as if it had been all.
  throw passing(failure('UNAVAILABLE', 'it broke off', 'try again'));
}

/** A line of an export. `number`: of an entry; of a trailer, how many there were. */
interface Line {
  readonly kind: 'heading' | 'entry' | 'trailer';
  readonly number: number;
}

interface Reading {
  readonly mediaType: string;
  /** PROTOCOL_ERROR. */
  readonly read: (line: string) => Line;
  /** The same, with another count. */
  readonly trailer: (line: string, count: number) => string;
}

const JsonLine = z.union([
  z.looseObject({ complete: z.literal(true), count: z.int().min(0) }),
  z.looseObject({ number: z.int().min(1) }),
]);

const READING: Readonly<Record<ExportFormat, Reading>> = {
  ndjson: {
    mediaType: 'application/x-ndjson',
    read: (line) => {
      const read = JsonLine.safeParse(parseJson(line));
      if (!read.success) throw unreadable();
      return 'complete' in read.data
        ? { kind: 'trailer', number: read.data.count as number }
        : { kind: 'entry', number: read.data.number };
    },
    trailer: (line, count) => JSON.stringify({ ...(parseJson(line) as object), count }),
  },
  csv: {
    mediaType: 'text/csv',
    read: (line) => {
      if (line.startsWith('number,')) return { kind: 'heading', number: 0 };
      const [, complete, number] = /^(complete,)?(\d{1,15}),/.exec(line) ?? [];
      if (number === undefined) throw unreadable();
      return { kind: complete === undefined ? 'entry' : 'trailer', number: Number(number) };
    },
    trailer: (line, count) => line.replace(/^complete,\d+/, `complete,${count}`),
  },
};

function unreadable(): FairleadError {
  return failure(
    'PROTOCOL_ERROR',
    'the server sent a line that this version does not understand',
    'update the command',
  );
}

function notWhole(error: unknown, { at, count }: Progress): unknown {
  if (count === 0) return error;
  const message = `the export is not whole: it has ${count} entries, the last one is number ${at}: ${messageOf(error)}`;
  return failure('UNAVAILABLE', message, `the same once more, into another file, with --after ${at}`, error);
}
