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
});
export type Subscriber = z.infer<typeof Subscriber>;

export const SubscriberList = z.looseObject({ subscribers: z.array(Subscriber), next: z.string().optional() });
