import type { ErrorCode } from '@fairlead/errors';
import { commit, tell } from '@fairlead/events';
import type { EntityManager } from 'typeorm';
import { disableWebhook, type LeasedWebhook } from '../../store/webhooks.js';
import type { WebhookRuntime } from './webhook-runtime.js';

/** Delivers nothing from then on, and says so once. What waits goes on waiting. */
export async function disable(runtime: WebhookRuntime, webhook: LeasedWebhook, why: ErrorCode): Promise<void> {
  await commit(runtime, (manager) => disableWithin(runtime, manager, webhook, why));
}

/** The same in the caller's transaction. */
export async function disableWithin(
  runtime: WebhookRuntime,
  manager: EntityManager,
  { subscriberId, tenantId, name }: LeasedWebhook,
  why: ErrorCode,
): Promise<void> {
  if (!(await disableWebhook(manager, subscriberId, why, runtime.now()))) return;
  const actor = { kind: 'service', id: runtime.source.credential } as const;
  const about = { tenantId, subject: `subscriber/${subscriberId}`, actor, reason: why };
  await tell(runtime, manager, 'dev.fairlead.subscriber.disabled.v1', {
    ...about,
    subscriberId,
    name,
    kind: 'webhook',
  });
  runtime.webhooks.meter.disabled();
  runtime.logger.warn('webhook.disabled', { tenantId, subscriber: name, reason: why });
}
