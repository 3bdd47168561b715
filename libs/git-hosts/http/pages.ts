import { FairleadError } from '@fairlead/errors';
import type { z } from 'zod';
import type { Limits } from '../limits.js';
import { readAs, type Ask, type GitHttp } from './git-http.js';
import type { Headers } from './rate-limit.js';

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

const MAX_LINK_CHARS = 8_192;
const MAX_QUERY_CHARS = 1_024;
const LINK = /<([^<>\s]{1,2048})>\s*((?:;\s*[\w!#$&+.^`|~-]+\s*=\s*(?:"[^"]*"|[^\s;,"]+)\s*)*)/g;

/** A page that was read. */
export interface Page {
  readonly headers: Headers;
  /** What was asked for. */
  readonly query: string;
  /** Entries on it. */
  readonly entries: number;
  /** Entries on it and all pages before it. */
  readonly received: number;
}

/**
 * The query of the next page as a Link header (RFC 8288, rel="next") says it, or null when there is none.
 *
 * Only the query is taken, and put to the path that was asked for: so a host can neither send us elsewhere, nor does it matter
 * that one behind a proxy calls itself by another name, or that GitHub's links go by the repository's number.
 */
export function nextByLink({ headers }: Page): string | null {
  const text = headers['link'] ?? '';
  if (text === '' || text.length > MAX_LINK_CHARS) return null;
  for (const [, target = '', parameters = ''] of text.matchAll(LINK)) {
    if (!/;\s*rel\s*=\s*(?:"(?:[^"]*\s)?next(?:\s[^"]*)?"|next(?=[\s;]|$))/i.test(parameters)) continue;
    const start = target.indexOf('?');
    const query = start < 0 ? '' : new URLSearchParams(target.slice(start + 1).split('#')[0]).toString();
    return query === '' || query.length > MAX_QUERY_CHARS ? null : query;
  }
  return null;
}

/**
 * GitLab's next page: `X-Next-Page` in offset pagination, which is right even where the instance's own address is not; else the
 * Link header, which is all that keyset pagination has. Source: https://docs.gitlab.com/api/rest/#pagination
 */
export function nextOnGitLab(page: Page): string | null {
  const next = page.headers['x-next-page'];
  if (next === undefined) return nextByLink(page);
  return /^[1-9]\d{0,8}$/.test(next) ? withPage(page.query, Number(next)) : null;
}

/**
 * Gitea's next page: some of its lists, that of deploy keys among them, have no Link header, and a page may be shorter than was
 * asked for. So they are read until the number in `X-Total-Count` is there or, without one, until a page is empty.
 */
export function nextOnGitea(page: Page): string | null {
  const total = page.headers['x-total-count'] ?? '';
  const complete = /^\d{1,9}$/.test(total) && page.received >= Number(total);
  if (page.entries === 0 || complete) return null;
  const { query } = page;
  return withPage(query, Number(new URLSearchParams(query).get('page') ?? 1) + 1);
}

function withPage(query: string, page: number): string {
  const next = new URLSearchParams(query);
  next.set('page', String(page));
  return next.toString();
}
