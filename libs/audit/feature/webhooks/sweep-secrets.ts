import { NO_TENANT, webhookKeysRpc } from '@fairlead/contracts';
import { readFrom } from '@fairlead/persistence';
import { webhooksAmong } from '../../store/webhooks.js';
import type { WebhookRuntime } from './webhook-runtime.js';

/** A subscriber that is being made has no row yet. */
const YOUNG_MS = 600_000;

/**
 * Has `keys` destroy secrets of which there is no webhook: whoever made one died before it was stored, or while it was removed. Returns how many.
 */
export async function sweepSecrets({ rpc, database, logger, now }: WebhookRuntime): Promise<number> {
  const before = now().getTime() - YOUNG_MS;
  let swept = 0;
  for (let after: string | undefined; ;) {
    const page = await rpc.call(webhookKeysRpc.listWebhookSecrets, NO_TENANT, after === undefined ? {} : { after });
    const ids = page.secrets.map(({ subscriberId }) => subscriberId);
    const known = await readFrom(database, (manager) => webhooksAmong(manager, ids));
    const orphans = page.secrets.filter(
      ({ subscriberId, createdAt }) => !known.has(subscriberId) && Date.parse(createdAt) < before,
    );
    for (const { tenantId, subscriberId } of orphans) {
      await rpc.call(webhookKeysRpc.destroyWebhookSecrets, tenantId, { subscriberId });
      logger.info('webhook.secret_destroyed', { tenantId, subscriberId });
    }
    swept += orphans.length;
    after = ids.at(-1);
    if (after === undefined) return swept;
  }
}
