import { z } from 'zod';
import { parseJson } from '../session/parse-json.js';

const entry = z.int().min(1);
const size = z.int().min(0);

/** The retention took the bodies of these entries. */
const Retention = z.strictObject({
  statement: z.literal('retention'),
  first: entry,
  last: entry,
  /** Of the log, then. */
  size,
  firstDay: z.iso.date(),
  lastDay: z.iso.date(),
});

/** The log could not go on, and goes on under another origin, beginning with this entry. */
const BegunAnew = z.strictObject({
  statement: z.literal('begun-anew'),
  incarnation: z.int().min(2),
  /** It begins with so many entries: what was left of the log before, and what was recorded since. */
  kept: size,
  /** So many of them are surely those of the log before: they were signed by then, as far as the audit service knew. */
  signed: size,
  /** What was signed last of the one before. */
  last: z.strictObject({ origin: z.string(), size, verifierKey: z.string(), checkpoint: z.string() }),
  by: z.string(),
});

const LogStatement = z.discriminatedUnion('statement', [Retention, BegunAnew]);

/** What the log says of itself. Only the audit service writes such entries, and what they say is in their leaves as everything is. */
export type LogStatement = z.infer<typeof LogStatement> & { readonly number: number };
export type BegunAnew = Extract<LogStatement, { readonly statement: 'begun-anew' }>;

/** Undefined: the entry is about something else. */
export function statementIn(number: number, body: string): LogStatement | undefined {
  if (!body.startsWith('{"statement":')) return undefined;
  const parsed = LogStatement.safeParse(parseJson(body));
  return parsed.success ? { number, ...parsed.data } : undefined;
}
