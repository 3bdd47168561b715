import { parseSshPublicKey } from '../ssh-public-key.js';
import type { FrontAnswer, FrontRequest } from './front.js';

/** What a fake host's routes are made of. */
export interface Route {
  readonly method: string;
  /** Against the path below the API's base, decoded group by group. */
  readonly path: RegExp;
  handle(request: FrontRequest, ...groups: string[]): FrontAnswer;
}

export function routed(routes: readonly Route[], base: string, request: FrontRequest, none: FrontAnswer): FrontAnswer {
  const path = request.path.startsWith(`${base}/`) ? request.path.slice(base.length) : undefined;
  if (path === undefined) return none;
  for (const route of routes) {
    const match = request.method === route.method ? route.path.exec(path) : null;
    if (match) return route.handle(request, ...match.slice(1).map((group?: string) => decodeURIComponent(group ?? '')));
  }
  return none;
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): FrontAnswer {
  const type = { 'content-type': 'application/json; charset=utf-8' };
  return { status, headers: { ...type, ...headers }, body: body === undefined ? '' : JSON.stringify(body) };
}

/** One page of a list, with its number and whether there is another. */
export function pageOf<T>(
  all: readonly T[],
  query: URLSearchParams,
): { page: number; size: number; part: T[]; more: boolean } {
  const page = Number(query.get('page') ?? 1);
  // Smaller than any host's own, so that lists of a test have several pages.
  const size = Math.min(Number(query.get('per_page') ?? 30), 40);
  return { page, size, part: all.slice((page - 1) * size, page * size), more: all.length > page * size };
}

/** Type and base64 without a comment, or null. */
export const bareKey = (text: unknown): string | null =>
  typeof text === 'string' ? (parseSshPublicKey(text)?.text ?? null) : null;

export const HEAD = '6dcb09b5b57875f334f61aebed695e2e4193db5e';
