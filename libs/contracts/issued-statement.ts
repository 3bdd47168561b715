import { z } from 'zod';
import { IsoTime } from './primitives.js';

/** How long a statement is to open connections: a minute to 90 days. */
export const StatementSeconds = z
  .int()
  .min(60)
  .max(90 * 24 * 3_600);

/** `envelope`: what was signed, by whom, and the signature; base64. `openUntil`: no connection begins after it. `streamsUntil`: what runs is ended. */
export const IssuedStatement = z.object({
  envelope: z.base64().max(32_768),
  openUntil: IsoTime,
  streamsUntil: IsoTime,
});
export type IssuedStatement = z.infer<typeof IssuedStatement>;
