import {
  DeadLetter as DeadLetterFields,
  DeadLetterNumbers,
  MAX_SECRET_OVERLAP_HOURS,
  RotatedSecret as RotatedFields,
  SubscriberName,
} from '@fairlead/contracts';
import { z } from 'zod';
import { json, operationsOf } from './operation.js';
import { Subscriber } from './subscriber-operations.js';

export const DeadLetter = DeadLetterFields.describe(
  'A message to a webhook that was given up. What it says is the entry of the audit log of this number.',
);
export const DeadLetterList = z.object({
  deadLetters: z.array(DeadLetter).max(200).describe('By number.'),
  next: z.int().min(1).optional().describe('There may be more: ask again with it as `after`.'),
});
export const RotatedSecret = RotatedFields.describe(
  'The new secret of a webhook, which is shown here and never again.',
);

export const SecretRotation = z
  .strictObject({
    overlapHours: z
      .int()
      .min(0)
      .max(MAX_SECRET_OVERLAP_HOURS)
      .default(24)
      .describe('For so long the secret before signs, too.'),
  })
  .describe('A webhook gets a new secret.');
export const Redelivery = z
  .strictObject({ numbers: DeadLetterNumbers.default(null).describe('Of dead letters; null: all of them.') })
  .describe('Dead letters are to be delivered after all.');
const params = z.strictObject({ name: SubscriberName });
const next = { NOT_FOUND: 'see which there are: fairlead subscriber list' };

/** What is done about webhooks. */
export const webhookOperations = operationsOf('subscribers', {
  rotateSubscriberSecret: {
    route: 'POST /v1/subscribers/{name}/secret-rotation',
    summary: 'Give a webhook a new secret',
    description:
      'Messages have a signature by each that is valid: the new one, and those before it until their overlap is over, five at most. Without an overlap the new one signs alone.',
    params,
    body: SecretRotation,
    answers: [json(200, 'The new secret.', RotatedSecret)],
    errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
    next,
  },
  enableSubscriber: {
    route: 'POST /v1/subscribers/{name}/enablement',
    summary: 'Deliver again to a webhook that was disabled',
    description: 'From where it stood: nothing was dropped meanwhile. Again: no change.',
    params,
    answers: [json(200, 'The subscriber.', Subscriber)],
    errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
    next,
  },
  listDeadLetters: {
    route: 'GET /v1/subscribers/{name}/dead-letters',
    summary: 'List messages to a webhook that were given up',
    params,
    query: z.strictObject({ after: z.coerce.number().int().min(0).optional() }),
    answers: [json(200, 'Dead letters by number.', DeadLetterList)],
    errors: ['NOT_FOUND', 'CONFLICT'],
    next,
  },
  redeliverDeadLetters: {
    route: 'POST /v1/subscribers/{name}/redelivery',
    summary: 'Deliver dead letters after all',
    description: 'Under the ids that they had.',
    params,
    body: Redelivery,
    answers: [json(200, 'How many.', z.object({ count: z.int().min(0) }))],
    errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
    next,
  },
});
