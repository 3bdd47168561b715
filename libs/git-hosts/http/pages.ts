import { FairleadError } from '@fairlead/errors';
import type { z } from 'zod';
import type { Limits } from '../limits.js';
import { readAs, type Ask, type GitHttp } from './git-http.js';
import type { Page } from './next-page.js';

export interface Pages<T> {
  readonly ask: Ask & { readonly query: string };
  readonly entry: z.ZodType<T[]>;
  /** The query of the page after this one, or null. */
  readonly next: (page: Page) => string | null;
  readonly limits: Pick<Limits, 'maxPages' | 'maxEntries'>;
}

/** All entries of a list. Throws PROTOCOL_ERROR when it has more pages or entries than the limits, or does not go on. */
export async function readPages<T>(
  http: GitHttp,
  { ask, entry, next, limits }: Pages<T>,
  signal: AbortSignal,
): Promise<T[]> {
  const entries: T[] = [];
  const seen = new Set<string>();
  for (let query: string | null = ask.query; query !== null;) {
    if (seen.has(query) || seen.size >= limits.maxPages || entries.length > limits.maxEntries)
      throw new FairleadError('PROTOCOL_ERROR', `${ask.what}: the Git host's list does not end`);
    seen.add(query);
    const answer = await http.send({ ...ask, query }, signal);
    const page = readAs(entry, answer.body, ask.what);
    entries.push(...page);
    query = next({ headers: answer.headers, query, entries: page.length, received: entries.length });
  }
  return entries;
}
