import { createHash } from 'node:crypto';
import { MAX_DEAD_LETTERS, MAX_SIGNED_CHARACTERS, webhookKeysRpc } from '@fairlead/contracts';
import { FairleadError, messageOf, toFairleadError, type ErrorCode } from '@fairlead/errors';
import { commit } from '@fairlead/events';
import { inTransaction } from '@fairlead/persistence';
import { RETRY_RULES, waitAfter } from '../../domain/delivery-retry.js';
import { countDead, endDelivery, putOff, type Delivery } from '../../store/webhook-deliveries.js';
import { lockWebhook, type LeasedWebhook } from '../../store/webhooks.js';
import { disable, disableWithin } from './disable.js';
import type { WebhookRuntime } from './webhook-runtime.js';

const TIMEOUT_MS = 15_000;
const MAX_ERROR_CHARACTERS = 512;
/** Where it is not the receiver's fault, it is no attempt. */
const OWN_FAULT_WAIT_MS = 2_000;

/** What became of one attempt at the receiver's. */
type Attempt =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly status: number | null; readonly error: string; readonly retryAfter?: string };

/**
 * One attempt at one message, and what follows from it. A message has the same id whenever it is delivered again. Throws what the database throws, and the signal's
 * reason: then nothing is known to have changed, and the message is delivered again.
 */
export async function deliver(
  runtime: WebhookRuntime,
  webhook: LeasedWebhook,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<void> {
  if (delivery.body === null) {
    return giveUp(runtime, webhook, delivery, { kind: 'failed', status: null, error: 'the entry is kept no more' });
  }
  if (delivery.body.length > MAX_SIGNED_CHARACTERS) {
    return giveUp(runtime, webhook, delivery, { kind: 'failed', status: null, error: 'it is too large to be signed' });
  }
  const signed = await sign(runtime, webhook, delivery.body, signal);
  if (signed === 'no-secret') return disable(runtime, webhook, 'NOT_FOUND');
  if (signed === 'later') return wait(runtime, webhook, delivery);
  if ('refused' in signed) {
    return giveUp(runtime, webhook, delivery, { kind: 'failed', status: null, error: signed.refused });
  }
  const attempt = await post(runtime, webhook, { delivery, body: delivery.body, signed }, signal);
  if (attempt.kind === 'gone') return disable(runtime, webhook, 'GONE');
  if (attempt.kind === 'failed') return fail(runtime, webhook, delivery, attempt);
  const { database, now } = runtime;
  await inTransaction(database, (manager) => endDelivery(manager, webhook.subscriberId, delivery, now()));
  runtime.webhooks.meter.attempted('delivered');
}

interface Signed {
  readonly id: string;
  readonly timestamp: number;
  readonly signature: string;
}

/** What `keys` says of the message itself, which it says again whenever it is asked. */
const REFUSALS: ReadonlySet<string> = new Set<ErrorCode>(['INVALID_ARGUMENT', 'TOO_LARGE']);

/** `later`: `keys` is away. `refused`: it signs this message never, and why. */
async function sign(
  { rpc, logger, now }: WebhookRuntime,
  { tenantId, subscriberId, name }: LeasedWebhook,
  payload: string,
  signal: AbortSignal,
): Promise<Signed | { readonly refused: string } | 'no-secret' | 'later'> {
  const id = messageId(payload);
  const timestamp = Math.floor(now().getTime() / 1_000);
  try {
    const asked = { subscriberId, id, timestamp, payload };
    return { id, timestamp, ...(await rpc.call(webhookKeysRpc.signWebhook, tenantId, asked, { signal })) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof FairleadError && error.code === 'NOT_FOUND') return 'no-secret';
    if (error instanceof FairleadError && REFUSALS.has(error.code))
      return { refused: `keys does not sign it: ${error.message}` };
    logger.debug('webhook.not_signed', { tenantId, subscriber: name, reason: messageOf(error) });
    return 'later';
  }
}

/** Of source and id, which name an event (CloudEvents 1.0, "id"): nobody can have a message taken for a repetition of somebody else's. */
function messageId(payload: string): string {
  const { source, id } = JSON.parse(payload) as { readonly source: string; readonly id: string };
  return `msg_${createHash('sha256').update(`${source}\n${id}`).digest('base64url').slice(0, 32)}`;
}

async function post(
  { webhooks }: WebhookRuntime,
  { url }: LeasedWebhook,
  { delivery, body, signed }: { readonly delivery: Delivery; readonly body: string; readonly signed: Signed },
  signal: AbortSignal,
): Promise<Attempt> {
  // Standard Webhooks 1.0, "Webhook Headers"; CloudEvents' HTTP binding, structured mode.
  const headers = {
    'content-type': 'application/cloudevents+json; charset=utf-8',
    'webhook-id': signed.id,
    'webhook-timestamp': String(signed.timestamp),
    'webhook-signature': signed.signature,
    'fairlead-entry': String(delivery.number),
  };
  try {
    const options = { headers, body: Buffer.from(body), timeoutMs: webhooks.timeoutMs ?? TIMEOUT_MS, signal };
    const { status, retryAfter } = await webhooks.posts.post(url, options);
    if (status >= 200 && status < 300) return { kind: 'delivered' };
    if (status === 410) return { kind: 'gone' };
    const failed = { kind: 'failed', status, error: `it answered ${status}` } as const;
    return retryAfter === undefined ? failed : { ...failed, retryAfter };
  } catch (error) {
    signal.throwIfAborted();
    return { kind: 'failed', status: null, error: toFairleadError(error).message };
  }
}

type Failed = Extract<Attempt, { kind: 'failed' }>;

async function fail(
  runtime: WebhookRuntime,
  webhook: LeasedWebhook,
  delivery: Delivery,
  failed: Failed,
): Promise<void> {
  const attempts = delivery.attempts + 1;
  const { now, logger, webhooks, database } = runtime;
  const at = now();
  const waitMs = waitAfter(attempts, failed.retryAfter, at, webhooks.retry ?? RETRY_RULES);
  if (waitMs === null) return giveUp(runtime, webhook, { ...delivery, attempts }, failed);
  const { tenantId, name, subscriberId } = webhook;
  const error = failed.error.slice(0, MAX_ERROR_CHARACTERS);
  const failure = { attempts, waitMs, status: failed.status, error, at };
  await inTransaction(database, (manager) => putOff(manager, subscriberId, delivery, failure));
  webhooks.meter.attempted('failed');
  const about = { tenantId, subscriber: name, number: delivery.number, attempts };
  logger.debug('webhook.attempt_failed', { ...about, status: failed.status ?? 0, reason: failed.error });
}

/** It becomes a dead letter. With as many as there may be, nothing more is delivered: none is dropped. */
async function giveUp(
  runtime: WebhookRuntime,
  webhook: LeasedWebhook,
  delivery: Delivery,
  failed: Failed,
): Promise<void> {
  const { subscriberId, tenantId, name } = webhook;
  const error = failed.error.slice(0, MAX_ERROR_CHARACTERS);
  const dead = { attempts: delivery.attempts, waitMs: null, status: failed.status, error, at: runtime.now() };
  const isDead = await commit(runtime, async (manager) => {
    // First, as whoever replays or removes it.
    await lockWebhook(manager, subscriberId);
    if (!(await putOff(manager, subscriberId, delivery, dead))) return false;
    if ((await countDead(manager, subscriberId)) >= MAX_DEAD_LETTERS)
      await disableWithin(runtime, manager, webhook, 'QUOTA_EXCEEDED');
    return true;
  });
  if (!isDead) return;
  runtime.webhooks.meter.attempted('dead');
  runtime.logger.warn('webhook.gave_up', { tenantId, subscriber: name, number: delivery.number, reason: error });
}

async function wait(
  { database, now }: WebhookRuntime,
  { subscriberId }: LeasedWebhook,
  delivery: Delivery,
): Promise<void> {
  const later = { attempts: delivery.attempts, waitMs: OWN_FAULT_WAIT_MS, status: null, at: now() };
  const error = 'it could not be signed: keys is away';
  await inTransaction(database, (manager) => putOff(manager, subscriberId, delivery, { ...later, error }));
}
