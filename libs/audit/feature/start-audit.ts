import { messageOf } from '@fairlead/errors';
import { RunLoop } from '@fairlead/loop';
import { SubscriberConsumers } from '@fairlead/messaging';
import type { NatsConnection } from '@nats-io/transport-node';
import { Module, type DynamicModule } from '@nestjs/common';
import { announceGaps } from './announce-gaps.js';
import { AuditController } from './audit.controller.js';
import { AuditLogController } from './audit-log.controller.js';
import { AuditLog } from './audit-log.js';
import type { AskedWitness } from './ask-witnesses.js';
import { AuditTree } from './audit-tree.js';
import { AuditWitnesses } from './audit-witnesses.js';
import { BeginAnew } from './begin-anew.js';
import { Ingest } from './ingest.js';
import { KeptConsumers } from './kept-consumers.js';
import { keepDays, makeDays } from './keep-days.js';
import { LiveGateways } from './live-gateways.js';
import type { Part, Runtime } from './runtime.js';
import { settleIntents } from './settle-intents.js';
import { Subscribers } from './subscribers.js';
import { SubscribersController } from './subscribers.controller.js';
import { startWebhooks } from './webhooks/start-webhooks.js';
import type { WebhookOptions } from './webhooks/webhook-runtime.js';
import { Webhooks } from './webhooks/webhooks.js';
import { WebhooksController } from './webhooks/webhooks.controller.js';

export interface AuditOptions {
  readonly retentionDays: number;
  /** Numbers that are left out are waited for so long before the log says that they are missing. */
  readonly gapGraceMs: number;
  /** A gateway that was silent for so long tells no outcome any more. */
  readonly gatewaySilenceMs: number;
  /** How often gaps and intents are looked at. */
  readonly lookEveryMs: number;
  /** Those that are asked to cosign the logs, to be told of. */
  readonly witnesses: readonly AskedWitness[];
  readonly webhooks: WebhookOptions;
}

export interface StartedAudit extends AsyncDisposable {
  /** What answers its contract. */
  readonly module: DynamicModule;
}

const DAYS_EVERY_MS = 3_600_000;
const CONSUMERS_EVERY_MS = 30_000;

@Module({})
class AuditModule {}

/** The parts of the service. UNAVAILABLE if the database is away. */
export async function startAudit(runtime: Runtime, nats: NatsConnection, options: AuditOptions): Promise<StartedAudit> {
  await makeDays(runtime);
  const parts = new AsyncDisposableStack();
  const gateways = parts.use(new LiveGateways(nats, runtime.logger));
  const loop = (part: Part, intervalMs: number, work: () => Promise<unknown>): void => {
    const onFailed = (error: unknown): void => {
      runtime.counts.failed(part);
      runtime.logger.warn('audit.delayed', { part, reason: messageOf(error) });
    };
    parts.use(new RunLoop({ intervalMs, jitter: 0.1, work: async () => void (await work()), onFailed }));
  };
  loop('partitions', DAYS_EVERY_MS, () => keepDays(runtime, options.retentionDays));
  loop('gaps', options.lookEveryMs, () => announceGaps(runtime, options.gapGraceMs));
  const { gatewaySilenceMs } = options;
  const isGone = (producer: string, at: Date): boolean => gateways.isGone(producer, at, gatewaySilenceMs);
  loop('intents', options.lookEveryMs, () => settleIntents(runtime, isGone, gatewaySilenceMs));
  const consumers = new KeptConsumers(runtime.database, new SubscriberConsumers(nats));
  loop('subscribers', CONSUMERS_EVERY_MS, () => consumers.followAll());
  parts.use(new Ingest(runtime, nats, 'audit'));
  parts.use(new Ingest(runtime, nats, 'events'));
  const { webhooks } = parts.use(startWebhooks(runtime, options.webhooks));
  return {
    module: {
      module: AuditModule,
      controllers: [AuditController, AuditLogController, SubscribersController, WebhooksController],
      providers: [
        { provide: AuditLog, useValue: new AuditLog(runtime) },
        { provide: Subscribers, useValue: new Subscribers(runtime, consumers, webhooks) },
        { provide: Webhooks, useValue: webhooks },
        { provide: AuditTree, useValue: new AuditTree(runtime.database) },
        { provide: BeginAnew, useValue: new BeginAnew(runtime, runtime.rpc) },
        { provide: AuditWitnesses, useValue: new AuditWitnesses(runtime.database, options.witnesses) },
      ],
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}
