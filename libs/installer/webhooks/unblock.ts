import type { DesiredState } from '@fairlead/desired-state';
import type { FairleadError } from '@fairlead/errors';
import { refOf, type KubeObject } from '@fairlead/kube/rest';
import type { Logger } from '@fairlead/observability';
import type { ToolDriver } from '../drivers/driver.js';
import type { WebhookWatch } from './webhook-watch.js';

export interface BlockedWriter {
  readonly webhooks: WebhookWatch;
  readonly drivers: readonly ToolDriver[];
  readonly logger: Logger;
  /** What is wanted, as far as it is known. */
  readonly desired: DesiredState | null;
}

/** What of ours cannot be written at all is what a webhook that concerns everything keeps from us too. */
export async function unblock(
  { webhooks, drivers, logger, desired }: BlockedWriter,
  { code, message, details }: FairleadError,
  object: KubeObject,
): Promise<void> {
  const httpStatus = Number(details?.['httpStatus'] ?? 0);
  // Somebody else wrote it, which no webhook has to do with.
  if (httpStatus < 400 || code === 'CONFLICT') return;
  const failed = { ref: refOf(object), outcome: 'failed' as const, honoured: [], error: { code, message, httpStatus } };
  const spec = desired?.gitops;
  const mayExempt = spec?.selfHeal === 'enforce' && !spec.holdRepairs;
  const tools = drivers.filter(({ tool }) => tool === spec?.tool).map(({ namespace }) => namespace);
  const finding = await webhooks.blocking([failed], [object], tools, mayExempt);
  if (finding) logger.error('installer.blocked', { code: finding.code, reason: finding.message });
}
