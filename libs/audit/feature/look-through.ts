import type { AuditEntry } from '@fairlead/contracts';
import { inTransaction, readFrom } from '@fairlead/persistence';
import type { DataSource } from 'typeorm';
import { facetsWanted } from '../domain/facets.js';
import type { NumberRange } from '../domain/sequence.js';
import { FIRST_SPAN, spansDown, spansUp } from '../domain/spans.js';
import { entriesByFacets, entriesIn, firstNumberSince, type Order, type Window } from '../store/search.js';

interface Patience {
  /** After this, what was found so far is the answer: whoever asked has a deadline, and can go on from there. */
  readonly enoughMs: number;
  /** What the index of facets may take. Of what is in many entries, and in no new one, it takes longer. */
  readonly byFacetsMs: number;
}
const PATIENCE: Patience = { enoughMs: 2_000, byFacetsMs: 2_000 };

/** What was found on the way from one number to another: `limit` entries, or all up to `through`. */
export interface LookedThrough {
  readonly entries: AuditEntry[];
  readonly through: number;
}

/**
 * Looks for entries from a number down: among the newest, where mostly enough is found; in the rest by the index; and where that would take too long, in one part of
 * the rest after the other, as far as time goes. However long a log is, this ends in time, and has looked at some ten thousand entries at least.
 */
export async function lookDown(
  database: DataSource,
  window: Window,
  upTo: number,
  patience = PATIENCE,
): Promise<LookedThrough> {
  const newest = { from: Math.max(1, upTo - FIRST_SPAN + 1), to: upTo };
  const found = await readFrom(database, (manager) => entriesIn(manager, window, newest, 'newest-first'));
  if (found.length >= window.limit || newest.from === 1) return { entries: found, through: newest.from };
  const rest = { ...window, limit: window.limit - found.length };
  const indexed = hasFacets(window) ? await byFacets(database, rest, newest.from - 1, patience) : undefined;
  if (indexed) return { entries: [...found, ...indexed], through: 1 };
  const walked = await walk(database, rest, spansDown(newest.from - 1), 'newest-first', patience);
  return { entries: [...found, ...walked.entries], through: walked.last?.from ?? newest.from };
}

/** The same upwards, from behind a number to another, in the order of the log: a part after the other, as somebody reads all of it. */
export async function lookUp(
  database: DataSource,
  window: Window,
  { after, upTo }: { readonly after: number; readonly upTo: number },
): Promise<LookedThrough> {
  const first = after === 0 ? await beginningOf(database, window, upTo) : after + 1;
  const { entries, last } = await walk(database, window, spansUp(first, upTo), 'oldest-first', PATIENCE);
  return { entries, through: last?.to ?? upTo };
}

/** Until enough is found, or time is up: at least the first of these ranges; a wide one may take longer than a statement may, and is left for the next time. `last`: the last one that was looked at. */
async function walk(
  database: DataSource,
  window: Window,
  spans: Iterable<NumberRange>,
  order: Order,
  { enoughMs }: Patience,
): Promise<{ readonly entries: AuditEntry[]; readonly last: NumberRange | undefined }> {
  const entries: AuditEntry[] = [];
  const beganMs = performance.now();
  let last: NumberRange | undefined;
  for (const span of spans) {
    const rest = { ...window, limit: window.limit - entries.length };
    try {
      entries.push(...(await readFrom(database, (manager) => entriesIn(manager, rest, span, order))));
    } catch (error) {
      if (last && wasCancelled(error)) break;
      throw error;
    }
    last = span;
    if (entries.length >= window.limit || performance.now() - beganMs > enoughMs) break;
  }
  return { entries, last };
}

/** Undefined: it would take too long. */
async function byFacets(
  database: DataSource,
  window: Window,
  upTo: number,
  { byFacetsMs }: Patience,
): Promise<AuditEntry[] | undefined> {
  try {
    return await inTransaction(database, async (manager) => {
      await manager.query(`set local statement_timeout = ${byFacetsMs}`);
      return entriesByFacets(manager, window, upTo);
    });
  } catch (error) {
    if (wasCancelled(error)) return undefined;
    throw error;
  }
}

async function beginningOf(database: DataSource, { tenantId, filter }: Window, upTo: number): Promise<number> {
  const { from } = filter;
  if (from === undefined) return 1;
  return (await readFrom(database, (manager) => firstNumberSince(manager, tenantId, new Date(from)))) ?? upTo + 1;
}

function hasFacets({ filter }: Window): boolean {
  const { all, anyOf } = facetsWanted(filter);
  return all.length + anyOf.length > 0;
}

/** The statement took longer than one may. https://www.postgresql.org/docs/current/errcodes-appendix.html */
export function wasCancelled(error: unknown): boolean {
  return (error as { driverError?: { code?: string } } | null)?.driverError?.code === '57014';
}
