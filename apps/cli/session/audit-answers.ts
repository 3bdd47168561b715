import { z } from 'zod';

// As in answers.ts: only what this command shows.

export const AuditEntry = z.looseObject({
  number: z.number(),
  at: z.string(),
  recordedAt: z.string(),
  kind: z.string(),
  source: z.string(),
  user: z.string(),
  cluster: z.string(),
  action: z.string(),
  decision: z.string(),
  body: z.record(z.string(), z.unknown()).nullable(),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

export const AuditEntryList = z.looseObject({ entries: z.array(AuditEntry), next: z.number().optional() });
export const AuditProducerList = z.looseObject({
  producers: z.array(
    z.looseObject({
      producer: z.string(),
      epoch: z.string(),
      mark: z.number(),
      lastAt: z.string(),
      current: z.boolean(),
      gaps: z.array(z.looseObject({ from: z.number(), to: z.number() })),
      moreGaps: z.number(),
    }),
  ),
});
