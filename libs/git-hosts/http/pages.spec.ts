import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextByLink, nextOnGitLab, nextOnGitea, type Page } from './pages.js';

const page = (headers: Page['headers'], more: Partial<Page> = {}): Page => ({
  headers,
  query: 'per_page=100',
  entries: 100,
  received: 100,
  ...more,
});

describe('the Link header', () => {
  it.each<[string, string | null]>([
    ['<https://x/a?page=2>; rel="next", <https://x/a?page=9>; rel="last"', 'page=2'],
    ['<https://x/a?page=1>; rel="prev", <https://x/a?page=3&per_page=5>; rel="next"', 'page=3&per_page=5'],
    ['<https://x/a?cursor=a%2Cb>; title="a, <b>; rel=next"; rel="prefetch next"', 'cursor=a%2Cb'],
    ['<https://x/a?page=2>; rel=next', 'page=2'],
    ['<?page=2>; rel="next"', 'page=2'],
    ['<https://x/a?page=2#top>; rel="next"', 'page=2'],
    ['<https://x/a>; rel="next"', null],
    ['<https://x/a?page=2>; rel="nextish"', null],
    ['<https://x/a?page=2>; title="rel=next"', null],
    ['https://x/a?page=2; rel="next"', null],
    ['', null],
    [`<https://x/a?${'p'.repeat(2_000)}=2>; rel="next"`, null],
  ])('%s', (link, next) => {
    expect(nextByLink(page({ link }))).toBe(next);
  });

  it('reads any header in a moment, and gives nothing but a query', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('<', '>', ';', ' ', 'rel', '=', '"', 'next', ',', '?', 'a') }),
        (text) => {
          const next = nextByLink(page({ link: text.repeat(20) }));
          expect(next === null || /^[\w%=&+.*-]+$/.test(next)).toBe(true);
        },
      ),
    );
  });
});

describe('pages by number', () => {
  it('goes by what GitLab says, and else by its Link header', () => {
    expect(nextOnGitLab(page({ 'x-next-page': '2', link: '<https://x?page=7>; rel="next"' }))).toBe(
      'per_page=100&page=2',
    );
    expect(nextOnGitLab(page({ 'x-next-page': '', link: '<https://x?page=7>; rel="next"' }))).toBeNull();
    expect(nextOnGitLab(page({ 'x-next-page': '2&evil=1' }))).toBeNull();
    expect(nextOnGitLab(page({ link: '<https://x?cursor=abc>; rel="next"' }))).toBe('cursor=abc');
  });

  it('goes on at Gitea until everything is there, or a page is empty', () => {
    const query = 'limit=50&page=1';
    const total = { 'x-total-count': '70' };
    expect(nextOnGitea(page(total, { query, entries: 50, received: 50 }))).toBe('limit=50&page=2');
    expect(nextOnGitea(page(total, { query: 'limit=50&page=2', entries: 20, received: 70 }))).toBeNull();
    expect(nextOnGitea(page({}, { query, entries: 30, received: 30 }))).toBe('limit=50&page=2');
    expect(nextOnGitea(page({}, { query, entries: 0, received: 30 }))).toBeNull();
    expect(nextOnGitea(page(total, { query, entries: 0, received: 30 }))).toBeNull();
  });
});
