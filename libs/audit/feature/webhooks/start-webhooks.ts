import { messageOf } from '@fairlead/errors';
import { RunLoop } from '@fairlead/loop';
import type { Runtime } from '../runtime.js';
import { sweepSecrets } from './sweep-secrets.js';
import { WebhookDispatcher } from './webhook-dispatcher.js';
import type { WebhookOptions, WebhookRuntime } from './webhook-runtime.js';
import { Webhooks } from './webhooks.js';

const SWEEP_EVERY_MS = 3_600_000;
const SWEEP_RETRY = { baseMs: 5_000, capMs: 300_000 };

export interface StartedWebhooks extends AsyncDisposable {
  readonly webhooks: Webhooks;
}

/** Delivers until it is disposed of. */
export function startWebhooks(audit: Runtime, options: WebhookOptions): StartedWebhooks {
  const runtime: WebhookRuntime = { ...audit, webhooks: options };
  const parts = new AsyncDisposableStack();
  const dispatcher = parts.use(new WebhookDispatcher(runtime));
  parts.use(
    new RunLoop({
      intervalMs: SWEEP_EVERY_MS,
      jitter: 0.1,
      retry: SWEEP_RETRY,
      work: async () => void (await sweepSecrets(runtime)),
      onFailed: (error) => audit.logger.debug('webhook.sweep_delayed', { reason: messageOf(error) }),
    }),
  );
  return {
    webhooks: new Webhooks(runtime, () => dispatcher.poke()),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}
