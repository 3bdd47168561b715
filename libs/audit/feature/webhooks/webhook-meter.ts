/** `delivered`; `failed`: it is tried again; `dead`: it was given up. */
export type DeliveryOutcome = 'delivered' | 'failed' | 'dead';

/** How far behind a webhook is that this process delivers to. */
export interface WebhookLag {
  readonly tenantId: string;
  readonly name: string;
  /** Entries that were not looked at, and messages that were not delivered. */
  readonly entries: number;
  /** Since the oldest message that was not delivered was recorded. */
  readonly seconds: number;
}

/** Told of what becomes of deliveries. */
export interface WebhookMeter {
  attempted(outcome: DeliveryOutcome): void;
  disabled(): void;
  /** All that this process delivers to. */
  lags(lags: readonly WebhookLag[]): void;
}

export const meterNothing: WebhookMeter = {
  attempted: () => undefined,
  disabled: () => undefined,
  lags: () => undefined,
};
