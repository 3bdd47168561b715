import { createHash, timingSafeEqual } from 'node:crypto';

/** What the listener of one login takes for its answer. */
export interface Expected {
  /** `127.0.0.1:PORT` or `[::1]:PORT`: any other Host is a page elsewhere whose name was made to lead here. */
  readonly authority: string;
  readonly path: string;
  /** Drawn for this login. Whoever does not know it did not get it from this command. */
  readonly state: string;
}

export interface LoopbackRequest {
  readonly method: string | undefined;
  /** As in the request line. */
  readonly target: string | undefined;
  readonly host: string | undefined;
}

/** The answer of the issuer, which may be a refusal; or a request that is none, and how it is turned away. */
export type Judged =
  | { readonly kind: 'answer'; readonly url: URL }
  | {
      readonly kind: 'foreign';
      readonly status: 400 | 404 | 405 | 421;
      readonly why: 'host' | 'path' | 'method' | 'state';
    };

/** RFC 8252, 7.3 and 8.10; RFC 6749, 10.12: a code that somebody else asked for is not taken. */
export function judgeLoopback({ method, target, host }: LoopbackRequest, expected: Expected): Judged {
  if (host !== expected.authority) return { kind: 'foreign', status: 421, why: 'host' };
  const url = ownUrl(target, expected);
  if (!url) return { kind: 'foreign', status: 404, why: 'path' };
  if (method !== 'GET') return { kind: 'foreign', status: 405, why: 'method' };
  const [state, ...more] = url.searchParams.getAll('state');
  const isOurs = state !== undefined && more.length === 0 && same(state, expected.state);
  const isAnswer = url.searchParams.has('code') || url.searchParams.has('error');
  return isOurs && isAnswer ? { kind: 'answer', url } : { kind: 'foreign', status: 400, why: 'state' };
}

function ownUrl(target: string | undefined, { authority, path }: Expected): URL | undefined {
  // An absolute form, or `//elsewhere`, would name another place.
  if (target?.split('?', 1)[0] !== path) return undefined;
  const text = `http://${authority}${target}`;
  return URL.canParse(text) ? new URL(text) : undefined;
}

function same(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
