import type { WebhookSubscription } from '@fairlead/contracts';
import type { WebhookState } from '../../store/webhooks.js';

/** How a webhook does. Of its URL no more than where it leads: the rest may be a secret. */
export function webhookView(state: WebhookState): WebhookSubscription {
  const { cursor, size, pending, dead, lastError, disabledFor } = state;
  return {
    origin: new URL(state.url).origin,
    state: state.disabledAt === null ? 'active' : 'disabled',
    disabledAt: iso(state.disabledAt),
    disabledFor,
    cursor,
    behind: Math.max(0, size - cursor),
    pending,
    dead,
    deliveredAt: iso(state.deliveredAt),
    lastError,
    lastErrorAt: iso(state.lastErrorAt),
  };
}

function iso(at: Date | null): string | null {
  return at?.toISOString() ?? null;
}
