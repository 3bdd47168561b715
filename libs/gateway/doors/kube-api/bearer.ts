import { splitBearer, type Bearer } from '@fairlead/access-statement';
import { headerValues, type RawHeaders } from '@fairlead/kube-http';

const MAX_SECRET = 512;

/** What a request shows; undefined: nothing that could be a token of ours. Throws STATEMENT_REFUSED for a statement that cannot be read. */
export function bearerOf(rawHeaders: RawHeaders): Bearer | undefined {
  const [value = '', another] = headerValues(rawHeaders, 'authorization');
  const token = another === undefined ? /^Bearer ([\x21-\x7e]{1,40000})$/i.exec(value)?.[1] : undefined;
  const bearer = token === undefined ? undefined : splitBearer(token);
  return bearer && bearer.secret.length > 0 && bearer.secret.length <= MAX_SECRET ? bearer : undefined;
}
