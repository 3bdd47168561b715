import type { ServiceRuntime } from '@fairlead/events';
import type { RpcClient } from '@fairlead/messaging';
import type { OutboundPosts } from '@fairlead/outbound';
import type { RetryRules } from '../../domain/delivery-retry.js';
import type { WebhookMeter } from './webhook-meter.js';

export interface WebhookOptions {
  readonly posts: OutboundPosts;
  readonly meter: WebhookMeter;
  /** Default: RETRY_RULES. */
  readonly retry?: RetryRules;
  /** For one attempt. Default 15 s. */
  readonly timeoutMs?: number;
  /** How often it is looked for what is due. Default 1 s. */
  readonly lookEveryMs?: number;
  /** Until another process takes over from one that is gone. Default 30 s. */
  readonly leaseMs?: number;
}

/** What delivers, and what administers webhooks, works with. */
export interface WebhookRuntime extends ServiceRuntime {
  /** Of `keys`. */
  readonly rpc: RpcClient;
  readonly webhooks: WebhookOptions;
}
