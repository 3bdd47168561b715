import { z } from 'zod';
import { IsoTime, UserName } from './primitives.js';
import { rpcOf } from './rpc.js';
import { Subscriber, SubscriberName } from './subscribers.js';
import { MAX_SECRET_OVERLAP_HOURS, WebhookSecret } from './webhook-keys.js';

/** Of a webhook. With as many it is disabled, so that none is dropped. */
export const MAX_DEAD_LETTERS = 1_000;

const EntryNumber = z.int().min(1);

/** A message that was given up. What it says is the entry of this number. */
export const DeadLetter = z.object({
  number: EntryNumber,
  attempts: z.int().min(0),
  /** Of the last answer; null: there was none. */
  status: z.int().nullable(),
  error: z.string().max(512).nullable(),
  lastAt: IsoTime.nullable(),
});
export type DeadLetter = z.infer<typeof DeadLetter>;

/** Shown once. */
export const RotatedSecret = z.object({
  secret: WebhookSecret,
  /** The secret before signs beside it until then; null: there was none. */
  previousUntil: IsoTime.nullable(),
});
export type RotatedSecret = z.infer<typeof RotatedSecret>;

const OverlapHours = z.int().min(0).max(MAX_SECRET_OVERLAP_HOURS);
/** Null: all. */
export const DeadLetterNumbers = z.array(EntryNumber).min(1).max(MAX_DEAD_LETTERS).nullable();

const rpc = rpcOf('audit');
const byName = z.object({ name: SubscriberName });
const by = UserName;

/** Webhooks of the tenant of the subject, by their subscribers' names. NOT_FOUND; CONFLICT: of another kind. */
export const webhookRpc = {
  /** CONFLICT, too: MAX_SIGNING_SECRETS sign already. */
  rotateWebhookSecret: rpc(
    'rotate-subscriber-secret',
    ['api'],
    byName.extend({ overlapHours: OverlapHours, by }),
    RotatedSecret,
    10_000,
  ),
  /** What was disabled is delivered to again, from where it stood. Again: no change. */
  enableWebhook: rpc('enable-subscriber', ['api'], byName.extend({ by }), Subscriber),
  /** By number, of those above `after`. */
  listDeadLetters: rpc(
    'list-dead-letters',
    ['api'],
    byName.extend({ after: z.int().min(0).optional() }),
    z.object({ deadLetters: z.array(DeadLetter).max(200), next: EntryNumber.optional() }),
  ),
  redeliver: rpc(
    'redeliver',
    ['api'],
    byName.extend({ numbers: DeadLetterNumbers, by }),
    z.object({ count: z.int().min(0) }),
  ),
} as const;
