import * as z from 'zod/mini';

/** What the server gives of a statement, as far as it is passed on. */
export const Credential = z.looseObject({
  statement: z.string().check(z.regex(/^[A-Za-z0-9_-]+$/)),
  openUntil: z.iso.datetime(),
});
