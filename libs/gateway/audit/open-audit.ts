import { AuditSpool } from '@fairlead/audit-spool';
import { Counter, Histogram, gaugeAtScrape, type Logger, type Registry } from '@fairlead/observability';
import { AuditRulesFile, type AuditRulesFileOptions } from './audit-rules-file.js';
import type { AuditLevels, AuditPolicy } from './audit-trail.js';

export interface AuditSettings {
  /** Of the spool, and of this replica alone. */
  readonly dir: string;
  readonly maxBytes: number;
  readonly policy: AuditPolicy;
  /** Of what is put on record; absent: all is. */
  readonly rulesFile?: string | undefined;
  /** Credential of this replica. */
  readonly replica: string;
  /** How often the rules are looked at; default 10,000. */
  readonly lookEveryMs?: number;
}

/** Where a replica keeps on record what goes through its doors, and how strictly. Whoever opened it disposes of it, after the replica has stopped. */
export interface GatewayAudit extends AsyncDisposable {
  readonly spool: AuditSpool;
  readonly policy: AuditPolicy;
  /** Absent: all is put on record. */
  readonly levels?: AuditLevels | undefined;
  readonly onForwarded: (records: number) => void;
}

const SYNC_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** Opens the spool and meters it. ALREADY_EXISTS while another process has the directory; UNAVAILABLE if it cannot be written to; INVALID_ARGUMENT for rules that cannot be read. */
export async function openAudit(settings: AuditSettings, registry: Registry, logger: Logger): Promise<GatewayAudit> {
  const { dir, maxBytes, policy } = settings;
  const registers = [registry];
  const syncSeconds = new Histogram({
    name: 'fairlead_gateway_audit_sync_seconds',
    help: 'How long it took until records in the audit spool were durable, for all that waited together.',
    buckets: SYNC_SECONDS,
    registers,
  });
  const spool = await AuditSpool.open({ dir, maxBytes, logger, onSynced: (seconds) => syncSeconds.observe(seconds) });
  const forwarded = new Counter({
    name: 'fairlead_gateway_audit_forwarded_total',
    help: 'Audit records that JetStream has taken over from the spool.',
    registers,
  });
  meterSpool(spool, registry);
  await using opened = new AsyncDisposableStack();
  opened.use(spool);
  const levels = await openLevels(settings, spool, registry, logger);
  if (levels) opened.use(levels.file);
  const owned = opened.move();
  return {
    spool,
    policy,
    levels,
    onForwarded: (records) => forwarded.inc(records),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function openLevels(
  { rulesFile: file, replica, lookEveryMs }: AuditSettings,
  spool: AuditSpool,
  registry: Registry,
  logger: Logger,
): Promise<(AuditLevels & { readonly file: AuditRulesFile }) | undefined> {
  if (file === undefined) return undefined;
  const announce: AuditRulesFileOptions['announce'] = async (record) => void (await spool.appendDurably(record));
  const pace = lookEveryMs === undefined ? {} : { lookEveryMs };
  const rules = await AuditRulesFile.open({ file, replica, announce, logger, ...pace });
  const leftOut = new Counter({
    name: 'fairlead_gateway_audit_left_out_total',
    help: 'Passages that were not put on record, by the rule of FAIRLEAD_AUDIT_RULES_FILE that says so.',
    labelNames: ['rule'],
    registers: [registry],
  });
  gaugeAtScrape(
    registry,
    {
      name: 'fairlead_gateway_audit_rules_refused',
      help: 'Whether FAIRLEAD_AUDIT_RULES_FILE cannot be read: 1, and the rules before stay in force; or 0.',
    },
    (gauge) => gauge.set(rules.isRefused ? 1 : 0),
  );
  return {
    file: rules,
    levelOf: (passage) => rules.levelOf(passage),
    leftOut: (rule) => leftOut.inc({ rule }),
  };
}

function meterSpool(spool: AuditSpool, registry: Registry): void {
  const gauge = (name: string, help: string, read: () => number): void =>
    gaugeAtScrape(registry, { name, help }, (at) => at.set(read()));
  gauge(
    'fairlead_gateway_audit_records',
    'Audit records in the spool that JetStream does not have yet.',
    () => spool.records,
  );
  gauge('fairlead_gateway_audit_bytes', 'Bytes that the audit spool takes on disk and in memory.', () => spool.bytes);
  gauge(
    'fairlead_gateway_audit_writable',
    'Whether the audit spool can be written to: 1, or 0 while its disk fails or is full.',
    () => (spool.failure === null ? 1 : 0),
  );
  let told = 0;
  const lost: Counter = new Counter({
    name: 'fairlead_gateway_audit_lost_total',
    help: 'Audit records that could not be kept; the audit itself says how many, once there is room.',
    registers: [registry],
    collect: () => {
      lost.inc(spool.lost - told);
      told = spool.lost;
    },
  });
}
