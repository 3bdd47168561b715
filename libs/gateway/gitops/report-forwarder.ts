import { fullJitterMs, systemClock, type Clock } from '@fairlead/clock';
import { gitopsRpc } from '@fairlead/contracts';
import { InstallerReport, MAX_REPORT_BYTES } from '@fairlead/desired-state';
import { toFairleadError } from '@fairlead/errors';
import { KeyedRateLimit, type Rate } from '@fairlead/limits';
import type { RpcClient } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { AgentSession } from '@fairlead/tunnel/gateway';
import type { GatewayMetrics } from '../status/gateway-metrics.js';

/** What the link server hears of an agent's installer. */
export type OnReport = (session: AgentSession, json: Uint8Array) => void;

/** Of one cluster, whatever links it has here: agents send one in two seconds, and one again when they change links. */
const REPORTS: Rate = { burst: 4, perSecond: 0.5 };
/** Of one cluster, how often the log says that its reports are refused. */
const COMPLAINTS: Rate = { burst: 1, perSecond: 1 / 300 };
const MAX_CLUSTERS = 20_000;
const AT_ONCE = 8;
const RETRY = { baseMs: 1_000, capMs: 60_000 };
/** Another try may help; a report may be told twice. */
const WORTH_ANOTHER_TRY: ReadonlySet<string> = new Set(['DEADLINE_EXCEEDED', 'RATE_LIMITED', 'UNAVAILABLE']);

export interface ReportForwarderOptions {
  readonly rpc: RpcClient;
  readonly metrics: Pick<GatewayMetrics, 'installerReports'>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly clock?: Clock;
}

/**
 * Carries what installers say to `gitops`, each for the cluster of the link it came on. What comes too often, is too large, or is
 * no report of that cluster is dropped and counted, and its link stays. While `gitops` is away the newest of each cluster is kept.
 */
export class ReportForwarder {
  readonly #options: ReportForwarderOptions;
  readonly #clock: Clock;
  readonly #rates = new KeyedRateLimit(REPORTS, MAX_CLUSTERS);
  readonly #complaints = new KeyedRateLimit(COMPLAINTS, MAX_CLUSTERS);
  readonly #pending: PendingReports;
  #running = false;

  constructor(options: ReportForwarderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#pending = new PendingReports(() => this.#count('forgotten'));
  }

  readonly take: OnReport = ({ facts: { tenantId, clusterId } }, json) => {
    if (!this.#rates.take(clusterId, this.#clock.monotonicMs())) {
      this.#count('rate-limited');
      return;
    }
    const problem = problemOf(json, clusterId);
    if (problem) {
      this.#count(problem);
      this.#complain(clusterId, problem);
      return;
    }
    // A copy: these bytes are a part of what came with them.
    this.#pending.put({ tenantId, clusterId, json: Buffer.from(json) });
    if (!this.#running) void this.#run();
  };

  async #run(): Promise<void> {
    this.#running = true;
    for (let failures = 0; this.#pending.size > 0 && !this.#options.signal.aborted;) {
      const told = await Promise.all(this.#pending.takeSome(AT_ONCE).map((report) => this.#forward(report)));
      failures = told.includes(false) ? failures + 1 : 0;
      if (failures === 0) continue;
      await this.#clock.sleep(fullJitterMs(failures, RETRY), this.#options.signal).catch(() => undefined);
    }
    this.#running = false;
  }

  /** False: it is kept for another try. */
  async #forward(pending: PendingReport): Promise<boolean> {
    const { tenantId, clusterId, json } = pending;
    const { rpc, signal } = this.#options;
    try {
      const report = JSON.parse(json.toString('utf8')) as InstallerReport;
      await rpc.call(gitopsRpc.reportCluster, tenantId, { clusterId, report }, { signal });
      this.#count('ok');
      return true;
    } catch (error) {
      const { code, message } = toFairleadError(error);
      const again = WORTH_ANOTHER_TRY.has(code);
      if (again) this.#pending.putBack(pending);
      else this.#count('refused');
      this.#complain(again ? '' : clusterId, `${code}: ${message}`);
      return !again;
    }
  }

  #count(outcome: string): void {
    this.#options.metrics.installerReports.inc({ outcome });
  }

  /** Once in a while of each cluster, and of `gitops` itself. */
  #complain(clusterId: string, reason: string): void {
    if (!this.#complaints.take(clusterId, this.#clock.monotonicMs())) return;
    this.#options.logger.warn('installer.report.not_forwarded', { ...(clusterId ? { clusterId } : {}), reason });
  }
}

/** Null: it is a report, and of this cluster. */
function problemOf(json: Uint8Array, clusterId: string): 'too-large' | 'invalid' | 'other-cluster' | null {
  if (json.length > MAX_REPORT_BYTES) return 'too-large';
  try {
    const report = InstallerReport.parse(JSON.parse(Buffer.from(json).toString('utf8')));
    return report.clusterId === clusterId ? null : 'other-cluster';
  } catch {
    // What a schema says of it quotes what somebody untrusted wrote.
    return 'invalid';
  }
}

/** A report on its way, as JSON that was checked. */
export interface PendingReport {
  readonly tenantId: string;
  readonly clusterId: string;
  readonly json: Buffer;
}

/** Of all that wait; beyond it the one that waited longest goes, and its agent sends it again within minutes. */
const MAX_BYTES = 32 * 1024 * 1024;

/** The newest report of each cluster, first come, first served. */
export class PendingReports {
  readonly #byCluster = new Map<string, PendingReport>();
  readonly #onForgotten: () => void;
  #bytes = 0;

  constructor(onForgotten: () => void) {
    this.#onForgotten = onForgotten;
  }

  get size(): number {
    return this.#byCluster.size;
  }

  /** Takes the place of the cluster's last one. */
  put(report: PendingReport): void {
    const before = this.#byCluster.get(report.clusterId);
    // A key that is there keeps its place in the order.
    this.#byCluster.set(report.clusterId, report);
    this.#bytes += report.json.length - (before?.json.length ?? 0);
    for (const [clusterId, oldest] of this.#byCluster) {
      if (this.#bytes <= MAX_BYTES) return;
      this.#byCluster.delete(clusterId);
      this.#bytes -= oldest.json.length;
      this.#onForgotten();
    }
  }

  /** One that could not be told, unless there is a newer one of its cluster. */
  putBack(report: PendingReport): void {
    if (!this.#byCluster.has(report.clusterId)) this.put(report);
  }

  takeSome(count: number): PendingReport[] {
    const taken = [...this.#byCluster.values()].slice(0, count);
    for (const { clusterId, json } of taken) {
      this.#byCluster.delete(clusterId);
      this.#bytes -= json.length;
    }
    return taken;
  }
}
