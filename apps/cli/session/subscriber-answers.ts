import { z } from 'zod';

// As in answers.ts: only what this command shows.

export const Subscriber = z.looseObject({
  name: z.string(),
  kind: z.string(),
  types: z.array(z.string()),
  createdAt: z.string(),
  nats: z
    .looseObject({
      publicKey: z.string(),
      stream: z.string(),
      consumer: z.string(),
      apiPrefix: z.string(),
      inboxPrefix: z.string(),
    })
    .nullable(),
  webhook: z
    .looseObject({
      origin: z.string(),
      state: z.string(),
      disabledFor: z.string().nullable(),
      behind: z.number(),
      pending: z.number(),
      dead: z.number(),
      deliveredAt: z.string().nullable(),
      lastError: z.string().nullable(),
      lastErrorAt: z.string().nullable(),
    })
    .nullable()
    .default(null),
});
export type Subscriber = z.infer<typeof Subscriber>;

export const SubscriberList = z.looseObject({ subscribers: z.array(Subscriber), next: z.string().optional() });

export const CreatedSubscriber = Subscriber.extend({ secret: z.string().nullable().default(null) });
export const RotatedSecret = z.looseObject({ secret: z.string(), previousUntil: z.string().nullable() });
export const DeadLetterList = z.looseObject({
  deadLetters: z.array(
    z.looseObject({
      number: z.number(),
      attempts: z.number(),
      status: z.number().nullable(),
      error: z.string().nullable(),
      lastAt: z.string().nullable(),
    }),
  ),
  next: z.number().optional(),
});
