import { z } from 'zod';
import { CredentialName, IsoTime, TenantId, UserName } from './primitives.js';
import { Revision, ifRevision } from './revision.js';
import { rpcOf } from './rpc.js';
import { WebhookSecret } from './webhook-keys.js';

/** Of a tenant, at once. Each has a consumer, or a queue, of its own. */
export const MAX_SUBSCRIBERS = 32;

/** How it is told: `nats`: it fetches by a consumer of its own. `webhook`: it is called. */
export const SubscriberKind = z.enum(['nats', 'webhook']);
export type SubscriberKind = z.infer<typeof SubscriberKind>;

export const SubscriberName = CredentialName;

/** `grant.created`, `grant.*`, `*`: types of events without what all have in common. The audit service says which there are. */
export const EventPattern = z
  .string()
  .max(128)
  .regex(/^(\*|[a-z0-9-]+\.(\*|[a-z0-9-]+))$/, 'write types of events as grant.created, grant.* or *');
export const EventPatterns = z.array(EventPattern).min(1).max(32);

/** The public half of an nkey of a user. https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_intro/nkey_auth */
export const NatsPublicKey = z.string().regex(/^U[A-Z2-7]{55}$/, 'the public key of an nkey of a user begins with U');

/** What a subscriber of the kind `nats` connects with besides its seed, which nobody but itself has. */
export const NatsSubscription = z.object({
  publicKey: NatsPublicKey,
  stream: z.string().max(63),
  consumer: z.string().max(63),
  /** Of its requests to JetStream, instead of `$JS.API`. */
  apiPrefix: z.string().max(63),
  /** All its inboxes begin so. */
  inboxPrefix: z.string().max(128),
});
export type NatsSubscription = z.infer<typeof NatsSubscription>;

/** In the bucket of subscribers, below its id: of the kind `nats` only. */
export const SubscriberEntry = z.object({ tenantId: TenantId, name: SubscriberName, publicKey: NatsPublicKey });
export type SubscriberEntry = z.infer<typeof SubscriberEntry>;

/** `https://…`, or `http://…` where the operator allows it. Its path and query may be a secret: nobody is shown them again. */
export const WebhookUrl = z.url({ protocol: /^https?$/ }).max(2_048);

/** How a subscriber of the kind `webhook` does. Numbers are of entries of the tenant's audit log. */
export const WebhookSubscription = z.object({
  /** Scheme, host and port of its URL. */
  origin: z.string().max(300),
  state: z.enum(['active', 'disabled']),
  disabledAt: IsoTime.nullable(),
  /** GONE: it answered 410. QUOTA_EXCEEDED: it has as many dead letters as there may be. NOT_FOUND: it has no secret. */
  disabledFor: z.string().max(64).nullable(),
  /** All entries up to here were looked at. */
  cursor: z.int().min(0),
  /** Entries that were not. */
  behind: z.int().min(0),
  /** Messages that are being delivered, or tried again. */
  pending: z.int().min(0),
  /** Messages that were given up. */
  dead: z.int().min(0),
  deliveredAt: IsoTime.nullable(),
  /** Of what was not delivered yet; null: nothing failed. */
  lastError: z.string().max(512).nullable(),
  lastErrorAt: IsoTime.nullable(),
});
export type WebhookSubscription = z.infer<typeof WebhookSubscription>;

/** Somebody outside who is told of a tenant's events as they happen. */
export const Subscriber = z.object({
  id: z.uuid(),
  name: SubscriberName,
  kind: SubscriberKind,
  types: EventPatterns,
  createdAt: IsoTime,
  /** Null: of another kind. */
  nats: NatsSubscription.nullable(),
  /** Null: of another kind. */
  webhook: WebhookSubscription.nullable().default(null),
  revision: Revision.default(''),
});
export type Subscriber = z.infer<typeof Subscriber>;

/** `secret`: what a webhook's messages are verified by, shown here and never again. */
export const CreatedSubscriber = Subscriber.extend({ secret: WebhookSecret.nullable().default(null) });
export type CreatedSubscriber = z.infer<typeof CreatedSubscriber>;

export const NewSubscriber = z
  .strictObject({
    kind: SubscriberKind,
    name: SubscriberName,
    types: EventPatterns,
    /** Of the kind `nats`, and of no other. */
    publicKey: NatsPublicKey.optional(),
    /** Of the kind `webhook`, and of no other. */
    url: WebhookUrl.optional(),
  })
  .refine(({ kind, publicKey }) => (kind === 'nats') === (publicKey !== undefined), {
    path: ['publicKey'],
    error: 'a subscriber of the kind nats has a publicKey, and no other has one',
  })
  .refine(({ kind, url }) => (kind === 'webhook') === (url !== undefined), {
    path: ['url'],
    error: 'a subscriber of the kind webhook has a url, and no other has one',
  });
export type NewSubscriber = z.infer<typeof NewSubscriber>;

/** A moment, or a number that one of its messages has: of the kind `nats` in the stream of events, of the kind `webhook` in the tenant's audit log. */
export const ReplayFrom = z.union([
  z.strictObject({ time: IsoTime }),
  z.strictObject({ number: z.int().min(1).max(Number.MAX_SAFE_INTEGER) }),
]);
export type ReplayFrom = z.infer<typeof ReplayFrom>;

const rpc = rpcOf('audit');
const byName = z.object({ name: SubscriberName });
const by = UserName;

/** Subscribers of the tenant of the subject. */
export const subscriberRpc = {
  /** ALREADY_EXISTS, QUOTA_EXCEEDED; INVALID_ARGUMENT: there is no such type of event. */
  createSubscriber: rpc(
    'create-subscriber',
    ['api'],
    z.object({ subscriber: NewSubscriber, by }),
    CreatedSubscriber,
    10_000,
  ),
  /** By name, as many as fit in one answer; `next` is there if there are more: pass it as `after`. */
  listSubscribers: rpc(
    'list-subscribers',
    ['api'],
    z.object({ after: SubscriberName.optional() }),
    z.object({ subscribers: z.array(Subscriber).max(500), next: SubscriberName.optional() }),
  ),
  /** NOT_FOUND. */
  getSubscriber: rpc('get-subscriber', ['api'], byName, Subscriber),
  /** Nothing is told to it from then on. NOT_FOUND, REVISION_CONFLICT. */
  removeSubscriber: rpc('remove-subscriber', ['api'], byName.extend({ by, ...ifRevision }), z.object({}), 10_000),
  /** Another key counts from then on, and the one before is cut off; where it stands is kept. NOT_FOUND, ALREADY_EXISTS; CONFLICT: of another kind. */
  rotateSubscriber: rpc(
    'rotate-subscriber',
    ['api'],
    byName.extend({ publicKey: NatsPublicKey, by, ...ifRevision }),
    Subscriber,
    10_000,
  ),
  /** It is told again from there on, of what is still kept. NOT_FOUND; of a webhook GONE for a number that is kept no more, INVALID_ARGUMENT for one that was not told yet. */
  replaySubscriber: rpc('replay-subscriber', ['api'], byName.extend({ from: ReplayFrom, by }), Subscriber, 15_000),
} as const;
