import type { Headers } from './rate-limit.js';

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
