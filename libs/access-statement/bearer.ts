import { FairleadError } from '@fairlead/errors';
import { MAX_ENVELOPE_BYTES } from './envelope.js';

/** What a client shows at a door: its secret and, if it has one for this cluster, a statement. */
export interface Bearer {
  readonly secret: string;
  readonly statement: Uint8Array | undefined;
}

/** Of no secret of ours, and one that a bearer token may hold (RFC 6750, b64token). */
const SEPARATOR = '~';
const MAX_CHARACTERS = Math.ceil((MAX_ENVELOPE_BYTES * 4) / 3);

export function joinBearer({ secret, statement }: Bearer): string {
  return statement ? `${secret}${SEPARATOR}${Buffer.from(statement).toString('base64url')}` : secret;
}

/** Throws STATEMENT_REFUSED for a statement that is none; whose it is, and that it counts, is not looked at. */
export function splitBearer(bearer: string): Bearer {
  const at = bearer.indexOf(SEPARATOR);
  if (at < 0) return { secret: bearer, statement: undefined };
  const text = bearer.slice(at + 1);
  // Buffer skips what is not base64: two spellings must not mean one statement.
  if (text.length === 0 || text.length > MAX_CHARACTERS || !/^[A-Za-z0-9_-]+$/.test(text)) {
    throw new FairleadError('STATEMENT_REFUSED', 'the access statement behind the token cannot be read');
  }
  return { secret: bearer.slice(0, at), statement: new Uint8Array(Buffer.from(text, 'base64url')) };
}
