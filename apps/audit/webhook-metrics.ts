import type { WebhookLag, WebhookMeter } from '@fairlead/audit';
import { Counter, gaugeAtScrape, type Registry } from '@fairlead/observability';

/** Metrics of webhooks: of lags, those of webhooks that this process delivers to. */
export function webhookMeterIn(registry: Registry): WebhookMeter {
  let known: readonly WebhookLag[] = [];
  const outcomes = new Counter({
    name: 'fairlead_webhook_deliveries_total',
    help: 'Attempts to deliver to a webhook: delivered, failed and tried again, or dead',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const disabled = new Counter({
    name: 'fairlead_webhook_disabled_total',
    help: 'Webhooks that were disabled because of what they answered',
    registers: [registry],
  });
  const lag = (unit: 'entries' | 'seconds', help: string): void => {
    const name = `fairlead_webhook_lag_${unit}`;
    gaugeAtScrape(registry, { name, help, labelNames: ['tenant', 'subscriber'] }, (gauge) => {
      gauge.reset();
      for (const each of known) gauge.set({ tenant: each.tenantId, subscriber: each.name }, each[unit]);
    });
  };
  lag(
    'entries',
    'Entries of the log that were not looked at for a webhook, and messages to it that were not delivered',
  );
  lag('seconds', 'Since the oldest message to a webhook was recorded that was not delivered');
  for (const outcome of ['delivered', 'failed', 'dead'] as const) outcomes.inc({ outcome }, 0);
  return {
    attempted: (outcome) => outcomes.inc({ outcome }),
    disabled: () => disabled.inc(),
    lags: (lags) => {
      known = lags;
    },
  };
}
