import { z } from 'zod';
import { IsoTime, TenantId } from './primitives.js';
import { rpcOf } from './rpc.js';

/** The secret that a webhook's receiver verifies signatures by: `whsec_` and 32 random bytes in base64 (Standard Webhooks 1.0). Shown once. */
export const WebhookSecret = z.string().regex(/^whsec_[A-Za-z0-9+/]{43}=$/);
/** For so long, at most, the secret before signs beside the new one. */
export const MAX_SECRET_OVERLAP_HOURS = 168;
/** Of one webhook at a time: the newest, and those before it of which the overlap is not over. Their signatures are one header. */
export const MAX_SIGNING_SECRETS = 5;
/** Of a message; events are smaller. */
export const MAX_SIGNED_CHARACTERS = 64 * 1024;

const SubscriberId = z.uuid();
const one = z.object({ subscriberId: SubscriberId });

/** That there is one, and not what it is. */
const StoredWebhookSecret = z.object({ subscriberId: SubscriberId, tenantId: TenantId, createdAt: IsoTime });

const rpc = rpcOf('keys');

/** Secrets of the webhooks of the tenant of the subject: `keys` makes them, signs by them, and destroys them. Each leaves it once, in the answer that made it. */
export const webhookKeysRpc = {
  /** ALREADY_EXISTS. */
  createWebhookSecret: rpc('create-webhook-secret', ['audit'], one, z.object({ secret: WebhookSecret })),
  /** The one before signs beside it until then, and those before that to their own end; with an overlap of 0, none does. Null: there was none. CONFLICT: too many sign already. */
  rotateWebhookSecret: rpc(
    'rotate-webhook-secret',
    ['audit'],
    one.extend({ overlapHours: z.int().min(0).max(MAX_SECRET_OVERLAP_HOURS) }),
    z.object({ secret: WebhookSecret, previousUntil: IsoTime.nullable() }),
  ),
  /** All of a subscriber. Again: no change. */
  destroyWebhookSecrets: rpc('destroy-webhook-secrets', ['audit'], one, z.object({})),
  /** Of all tenants, by subscriber, of those above `after`: whoever knows which subscribers there are has the others destroyed. */
  listWebhookSecrets: rpc(
    'list-webhook-secrets',
    ['audit'],
    z.object({ after: SubscriberId.optional() }),
    z.object({ secrets: z.array(StoredWebhookSecret).max(500) }),
  ),
  /**
   * `webhook-signature` of a message: HMAC-SHA256 over `id.timestamp.payload` by each secret that is valid now, newest first. NOT_FOUND: it has none. `timestamp`: seconds since the epoch.
   */
  signWebhook: rpc(
    'sign-webhook',
    ['audit'],
    one.extend({
      id: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
      timestamp: z.int().min(0),
      payload: z.string().max(MAX_SIGNED_CHARACTERS),
    }),
    z.object({ signature: z.string().max(256) }),
  ),
} as const;
