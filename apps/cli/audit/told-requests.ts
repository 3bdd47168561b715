import { createReadStream } from 'node:fs';
import { FairleadError, messageOf } from '@fairlead/errors';
import { z } from 'zod';
import { failure } from '../failure.js';
import { linesOf } from '../session/lines-of.js';
import { parseJson } from '../session/parse-json.js';
import { IdTable } from './id-table.js';

/** Longer ones are no line of such a file. */
const MAX_LINE_CHARACTERS = 64 * 1024;
/** In memory they take 40 bytes each at most. */
export const MAX_REQUESTS = 4_000_000;

/** What a program says of one request of its own, in one line of its file. */
export const ToldRequest = z.object({
  /** The `Audit-Id` of the answer. */
  auditId: z.uuid().nullish(),
  /** When it was sent. */
  at: z.iso.datetime({ offset: true }),
  method: z.string().min(1).max(16),
  path: z.string().min(1).max(16_384),
  /** Null: there was no answer, or not all of it. */
  status: z.int().min(100).max(999).nullable(),
  /** False: nobody promised that it is on record, such as a read or a refusal. */
  required: z.boolean().default(true),
});
export type ToldRequest = z.output<typeof ToldRequest>;

/** Of a told request: nobody promised that it is on record; its answer broke off, after the head that named it. */
export const NOT_REQUIRED = 1 << 1;
export const BROKE_OFF = 1 << 7;

export interface ToldRequests {
  /** Those that have an id, with the status as the number. */
  readonly known: IdTable;
  readonly lines: number;
  readonly noAnswer: number;
  /** Answered, and not by a gateway: there was no id. */
  readonly unnamed: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Reads such a file, line by line. Refuses one with a line that it cannot read, with an id that stands twice, or with none. */
export async function readToldRequests(path: string): Promise<ToldRequests> {
  const known = new IdTable(MAX_REQUESTS);
  let [lines, noAnswer, unnamed, firstMs, lastMs] = [0, 0, 0, Infinity, -Infinity];
  try {
    for await (const line of linesOf(createReadStream(path), MAX_LINE_CHARACTERS)) {
      lines += 1;
      if (line.trim() === '') continue;
      const told = readLine(line, lines);
      const atMs = Date.parse(told.at);
      firstMs = Math.min(firstMs, atMs);
      lastMs = Math.max(lastMs, atMs);
      if (told.status === null) noAnswer += 1;
      else if (!told.auditId) unnamed += 1;
      if (told.auditId) note(known, told.auditId, told, lines);
    }
  } catch (error) {
    throw failure(
      error instanceof FairleadError ? error.code : 'NOT_FOUND',
      `${path}: ${messageOf(error)}`,
      NEXT,
      error,
    );
  }
  if (firstMs > lastMs) throw failure('INVALID_ARGUMENT', `${path} has no request`, NEXT);
  return { known, lines, noAnswer, unnamed, firstMs, lastMs };
}

const NEXT = 'see: fairlead audit reconcile --help';

function readLine(line: string, number: number): ToldRequest {
  const parsed = ToldRequest.safeParse(parseJson(line));
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0] ?? { path: [], message: '' };
  throw new FairleadError('INVALID_ARGUMENT', `line ${number} is none: ${[path.join('.'), message].join(' ').trim()}`);
}

function note(known: IdTable, auditId: string, { status, required }: ToldRequest, line: number): void {
  const { slot, isNew } = known.add(auditId);
  if (!isNew) throw new FairleadError('INVALID_ARGUMENT', `line ${line} has an id that a line before it has, too`);
  known.setNumber(slot, status ?? 0);
  if (!required) known.mark(slot, NOT_REQUIRED);
  if (status === null) known.mark(slot, BROKE_OFF);
}
