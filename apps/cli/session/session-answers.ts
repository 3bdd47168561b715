import { z } from 'zod';

// As in answers.ts: only what this command shows.

const silent = z.array(z.string());

const Session = z.looseObject({
  id: z.string(),
  kind: z.string(),
  gateway: z.string(),
  cluster: z.string(),
  user: z.string(),
  as: z.string().nullable(),
  address: z.string(),
  since: z.string(),
  target: z.string(),
});
export type Session = z.infer<typeof Session>;
export const SessionList = z.looseObject({
  sessions: z.array(Session),
  more: z.number(),
  next: z.string().optional(),
  silent,
});

export const EndedSessions = z.looseObject({ ended: z.number(), silent });
