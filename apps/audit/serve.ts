import { readFileSync } from 'node:fs';
import {
  AUDIT_BUCKETS,
  AUDIT_ENTITIES,
  AUDIT_MIGRATIONS,
  appendToTree,
  askWitnesses,
  signTrees,
  startAudit,
  type AuditOptions,
  type Counts,
  type Runtime,
  type WebhookMeter,
} from '@fairlead/audit';
import { createRpcClient } from '@fairlead/messaging';
import { OutboundPosts } from '@fairlead/outbound';
import { Counter, type Registry } from '@fairlead/observability';
import type { ServiceDefinition } from '@fairlead/service';
import { readConfig, type Config } from './config.js';
import { webhookMeterIn } from './webhook-metrics.js';

const LOOK_EVERY_MS = 5_000;
const SIGN_EVERY_MS = 2_000;
/** For one request to a witness. */
const WITNESS_TIMEOUT_MS = 10_000;

export const audit: ServiceDefinition<Config> = {
  role: 'audit',
  entities: AUDIT_ENTITIES,
  migrations: AUDIT_MIGRATIONS,
  readConfig,
  prepare: (config) => ({
    start: async (host) => {
      const { database, logger, nats, registry } = host;
      const counts = countsIn(registry);
      const rpc = createRpcClient(nats, host.source);
      const runtime: Runtime = {
        database,
        source: host.source,
        rpc,
        logger,
        onCommitted: host.onCommitted,
        counts,
        appendToLog: appendToTree,
        now: () => new Date(),
      };
      const options = optionsOf(config, webhookMeterIn(registry));
      const started = await host.retryWhileAway(() => startAudit(runtime, nats, options));
      host.project(AUDIT_BUCKETS);
      host.use(signTrees({ database, logger, rpc, everyMs: SIGN_EVERY_MS }));
      const { witnesses } = options;
      const everyMs = config.FAIRLEAD_AUDIT_WITNESS_SECONDS * 1_000;
      const asking = { database, logger, rpc, witnesses, everyMs, timeoutMs: WITNESS_TIMEOUT_MS, now: runtime.now };
      if (witnesses.length > 0) host.use(askWitnesses(asking));
      return host.use(started).module;
    },
  }),
};

function optionsOf(config: Config, meter: WebhookMeter): AuditOptions {
  const caFile = config.FAIRLEAD_WEBHOOK_CA_FILE;
  const rules = {
    allowed: config.FAIRLEAD_WEBHOOK_ALLOWED_RANGES,
    plaintext: config.FAIRLEAD_WEBHOOK_ALLOW_HTTP,
    what: 'the URL of the webhook',
  };
  const ca = caFile === undefined ? undefined : readFileSync(caFile, 'utf8');
  return {
    webhooks: { posts: new OutboundPosts({ rules, ca }), meter },
    retentionDays: config.FAIRLEAD_AUDIT_RETENTION_DAYS,
    gapGraceMs: config.FAIRLEAD_AUDIT_GAP_SECONDS * 1_000,
    gatewaySilenceMs: config.FAIRLEAD_AUDIT_UNKNOWN_SECONDS * 1_000,
    lookEveryMs: LOOK_EVERY_MS,
    witnesses: config.FAIRLEAD_AUDIT_WITNESSES ?? [],
  };
}

function countsIn(registry: Registry): Counts {
  const counter = <Label extends string>(name: string, help: string, label: Label): Counter<Label> =>
    new Counter({ name, help, labelNames: [label], registers: [registry] });
  const entries = counter('fairlead_audit_entries_total', 'Entries that became part of a log', 'kind');
  const repeated = counter('fairlead_audit_repeated_total', 'Records and events that had come before', 'stream');
  const unreadable = counter('fairlead_audit_unreadable_total', 'Messages that no schema reads', 'stream');
  const failures = counter('fairlead_audit_failures_total', 'What failed, and is tried again', 'part');
  return {
    entries: (kind, count) => entries.inc({ kind }, count),
    repeated: (stream, count) => repeated.inc({ stream }, count),
    unreadable: (stream) => unreadable.inc({ stream }),
    failed: (part) => failures.inc({ part }),
  };
}
