import { z } from 'zod';

/** What the server gives of a statement, as far as it is passed on. */
export const Credential = z.looseObject({
  statement: z.string().regex(/^[A-Za-z0-9_-]+$/),
  openUntil: z.iso.datetime(),
});
