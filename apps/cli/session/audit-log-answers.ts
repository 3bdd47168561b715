import { z } from 'zod';

// As in answers.ts: only what this command needs.

export const AuditLogHead = z.looseObject({
  origin: z.string(),
  verifierKey: z.string(),
  incarnation: z.number(),
  size: z.number(),
  checkpoint: z.string(),
});
export type AuditLogHead = z.infer<typeof AuditLogHead>;

export const AuditLogBegunAnew = AuditLogHead.extend({
  previous: z.looseObject({ origin: z.string(), size: z.number() }),
});

export const AuditTile = z.looseObject({ bytes: z.string() });

export const AuditEvidenceList = z.looseObject({
  records: z.array(z.looseObject({ number: z.number(), body: z.string().nullable(), nonce: z.string().nullable() })),
  next: z.number(),
  size: z.number(),
});

export const AuditWitnessList = z.looseObject({
  witnesses: z.array(
    z.looseObject({
      name: z.string(),
      verifierKey: z.string(),
      state: z.string(),
      why: z.string(),
      size: z.number(),
      cosignedAt: z.string().nullable(),
      askedAt: z.string().nullable(),
    }),
  ),
  checkpoints: z.array(z.looseObject({ size: z.number(), checkpoint: z.string() })),
});
