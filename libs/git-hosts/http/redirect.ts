import { FairleadError } from '@fairlead/errors';
import type { Answer, Request } from './exchange.js';

/**
 * Where a redirect leads, if it may be followed: by a GET, to the same host, port and https, below the API's base. A host sends
 * one when a repository was renamed. Anywhere else it could make us ask an address that only we can reach, or show our token.
 * Throws CONFLICT for other methods, PROTOCOL_ERROR for other places, which are not named: the text is the host's.
 */
export function redirectTarget(request: Request, answer: Answer, apiBase: URL, what: string): URL {
  if (request.method !== 'GET')
    throw new FairleadError('CONFLICT', `${what}: the repository has moved; use its new name`);
  const location = answer.headers['location'] ?? '';
  const readable = location !== '' && location.length <= 2_048 && URL.canParse(location, request.url.href);
  const target = readable ? new URL(location, request.url) : null;
  const stays =
    target !== null &&
    target.origin === apiBase.origin &&
    target.username === '' &&
    target.password === '' &&
    target.pathname.startsWith(`${apiBase.pathname.replace(/\/$/, '')}/`);
  if (!stays)
    throw new FairleadError('PROTOCOL_ERROR', `${what}: the Git host redirects to another place; not followed`);
  target.hash = '';
  return target;
}
