import type { Clock } from '@fairlead/clock';
import { HANDOVER, Handover, type DesiredState, type InstallerReport, type Phase } from '@fairlead/desired-state';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import type { Objects } from '@fairlead/kube/rest';
import type { Logger } from '@fairlead/observability';
import { Reconciler } from './apply/reconcile.js';
import { BundleShelf } from './bundle/bundle-shelf.js';
import type { ToolDriver } from './drivers/driver.js';
import { FunctionalProbe, FUNCTIONAL_LIMITS, type FunctionalLimits } from './health/functional.js';
import { LADDER_LIMITS, type LadderLimits } from './ladder/ladder-state.js';
import { Pace, type ToolKeeperParts } from './task.js';
import { OWN } from './names.js';
import { Preflight, type PreflightOptions } from './preflight/preflight.js';
import { removeTool } from './removal/remove-tool.js';
import { ReportWriter, makeReport, type Told } from './report/make-report.js';
import type { History } from './report/history.js';
import { serve } from './serve.js';
import { ownObjects, type OwnObjects } from './state/own-objects.js';
import { raised, readHighWater, writeHighWater, type HighWater } from './state/high-water.js';
import { StateKeeper } from './state/state-keeper.js';
import { Problem } from './problem.js';
import { acceptHandover, type Installed } from './trust/accept-handover.js';
import { unblock, WebhookWatch, WEBHOOK_LIMITS, type WebhookLimits } from './webhooks/webhook-watch.js';

const SETTLED: ReadonlySet<Phase> = new Set<Phase>(['off', 'waiting', 'healthy']);

export interface InstallerOptions {
  readonly installed: Installed;
  /** The installer's own, and the agent's. */
  readonly namespace: string;
  readonly version: string;
  readonly objects: Objects;
  readonly drivers: readonly ToolDriver[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ladder?: LadderLimits;
  readonly functional?: FunctionalLimits;
  readonly webhooks?: WebhookLimits;
  /** Absent: no host is looked at. */
  readonly preflight?: PreflightOptions;
}

/** What outlives one installer in its process. */
export interface InstallerProcess {
  /** Tells its reports from those of another process. */
  readonly instance: string;
  readonly history: History;
}

/** Acts on signed desired state, and on nothing else (docs/adr/0026). Each `cycle` is one observation, at most one repair, and a report. */
export class Installer {
  readonly #parts: ToolKeeperParts;
  readonly #writer: ReportWriter;
  readonly #instance: string;
  readonly #since = new Map<string, string>();
  #highWater: HighWater | null;

  private constructor(
    private readonly options: InstallerOptions,
    { instance, history }: InstallerProcess,
    private readonly own: OwnObjects,
    keeper: StateKeeper,
    highWater: HighWater | null,
  ) {
    this.#highWater = highWater;
    const { objects, clock, ladder = LADDER_LIMITS } = options;
    this.#instance = instance;
    this.#writer = new ReportWriter(own, clock);
    this.#parts = {
      objects,
      clock,
      history,
      keeper,
      reconciler: new Reconciler(objects, clock),
      functional: new FunctionalProbe(objects, options.functional ?? FUNCTIONAL_LIMITS),
      webhooks: new WebhookWatch(objects, clock, history, options.namespace, options.webhooks ?? WEBHOOK_LIMITS),
      shelf: new BundleShelf(own),
      limits: ladder,
      trustPace: new Pace(ladder.trustMs),
      preflight: options.preflight ? new Preflight(options.preflight, clock) : null,
    };
  }

  static async open(options: InstallerOptions, process: InstallerProcess): Promise<Installer> {
    const own = ownObjects(options.objects, options.namespace);
    const highWater = await readHighWater(options.objects, options.installed.clusterId);
    return new Installer(options, process, own, await StateKeeper.open(own), highWater);
  }

  /**
   * Throws where the API server did not answer, or takes nothing from us: the caller tries again. CONFLICT: another installer wrote what
   * this one remembers, which has to be opened anew.
   */
  async cycle(signal: AbortSignal): Promise<InstallerReport> {
    try {
      return await this.#observe(signal);
    } catch (error) {
      if (error instanceof FairleadError && !signal.aborted) await this.#unblock(error);
      throw error;
    }
  }

  async #observe(signal: AbortSignal): Promise<InstallerReport> {
    const refused = await this.#takeHandover();
    const { desired } = this.#parts.keeper.held;
    const told = await this.#bring(desired, signal);
    const report = this.#report({ ...told, problem: told.problem ?? refused ?? null });
    await this.#writer.write(report, signal);
    // Nothing failed, and nothing waits to be tried again: a webhook that blocked something has its grace anew.
    if (SETTLED.has(report.phase)) this.#parts.webhooks.passed();
    return report;
  }

  /** What cannot be remembered, or reported. */
  #unblock(error: FairleadError): Promise<void> {
    const { webhooks, keeper } = this.#parts;
    const { namespace, drivers, logger } = this.options;
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name: OWN.state } };
    return unblock({ webhooks, drivers, logger, desired: keeper.held.desired }, error, secret);
  }

  async #bring(desired: DesiredState | null, signal: AbortSignal): Promise<Told> {
    if (!desired) {
      const problem = new Problem('STATE_AWAITED', 'no desired state was handed over yet');
      return { phase: 'waiting', problem: this.#parts.keeper.held.rootsPem.length === 0 ? null : problem };
    }
    const { gitops } = desired;
    const { drivers, logger } = this.options;
    if (!gitops) return removeTool(this.#parts, this.own, drivers, desired, signal);
    const driver = drivers.find(({ tool }) => tool === gitops.tool);
    if (!driver) {
      return {
        phase: 'waiting',
        problem: new Problem('TOOL_UNSUPPORTED', `this installer does not know ${gitops.tool}`),
      };
    }
    const told = await serve(this.#parts, this.own, driver, { ...desired, gitops }, signal);
    logger.debug('installer.cycle', { phase: told.phase, code: told.problem?.code, reason: told.problem?.message });
    return told;
  }

  /** Why some of what was handed over does not count. */
  async #takeHandover(): Promise<Problem | null> {
    const { keeper, history, clock } = this.#parts;
    const text = (await this.own.readConfigMap(HANDOVER.desiredState))?.data[HANDOVER.keys.handover];
    if (text === undefined || text === '') return null;
    const handover = Handover.safeParse(jsonOf(text));
    if (!handover.success) return this.#refuse(new Problem('HANDOVER_UNREADABLE', 'the handover cannot be read'));
    const before = keeper.held;
    const { refused, ...held } = await acceptHandover(
      before,
      handover.data,
      { ...this.options.installed, highWater: this.#highWater },
      new Date(clock.nowMs()),
    );
    await keeper.keep({ ...held, rootsPem: [...held.rootsPem] });
    await this.#raiseHighWater();
    if (held.desired?.revision !== before.desired?.revision) {
      this.options.logger.info('installer.desired_state', { revision: held.desired?.revision });
      history.record('observed', '', `revision ${held.desired?.revision} is wanted`);
    }
    for (const problem of refused) this.#refuse(problem);
    return refused[0] ?? null;
  }

  /** Repairs do not wait for it: a webhook may be in its way, and it is tried again at each observation. */
  async #raiseHighWater(): Promise<void> {
    const { objects, installed, logger } = this.options;
    const next = raised(this.#highWater, this.#parts.keeper.held, installed.clusterId);
    if (!next) return;
    try {
      await writeHighWater(objects, next);
      this.#highWater = next;
    } catch (error) {
      const { code, message } = toFairleadError(error);
      logger.warn('installer.high_water_failed', { code, reason: message });
    }
  }

  #refuse(problem: Problem): Problem {
    const { code, message } = problem;
    const isNews = this.#parts.history.recordOnce('refused', '', `${code}: ${message}`);
    if (isNews) this.options.logger.warn('installer.refused', { code, reason: message });
    return problem;
  }

  #report(told: Told): InstallerReport {
    const { installed, version, clock } = this.options;
    const { keeper, history, functional } = this.#parts;
    return makeReport(told, {
      clusterId: installed.clusterId,
      installerVersion: version,
      installerInstance: this.#instance,
      held: keeper.held,
      highestRevision: this.#highWater?.revision ?? 0,
      events: history.events,
      functionalMs: functional.answeredMs,
      now: new Date(clock.nowMs()),
      since: this.#since,
    });
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON is not a handover: the schema says so.
    return null;
  }
}
