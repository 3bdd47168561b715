import { isDeepStrictEqual } from 'node:util';
import {
  InstallerReport,
  type ObjectEvent,
  type Phase,
  type PreflightReport,
  type PublicKey,
  type SourceState,
  HANDOVER,
  MAX_REPORT_BYTES,
} from '@fairlead/desired-state';
import type { Clock } from '@fairlead/clock';
import type { HeldState } from '../state/state-keeper.js';
import type { OwnObjects } from '../state/own-objects.js';

/** What one observation of the cluster has to say. */
export interface Told {
  readonly phase: Phase;
  readonly problem: { readonly code: string; readonly message: string } | null;
  readonly wantedBundle?: string | null;
  readonly publicKeys?: readonly PublicKey[];
  readonly source?: SourceState | null;
  readonly sync?: SourceState | null;
  readonly preflight?: PreflightReport | null;
}

interface ReportSurroundings {
  readonly clusterId: string;
  readonly installerVersion: string;
  readonly installerInstance: string;
  readonly held: HeldState;
  /** What was here before, where it is more than what is held: newer desired state has to be above it. */
  readonly highestRevision: number;
  readonly events: readonly ObjectEvent[];
  readonly functionalMs: number | null;
  readonly now: Date;
  /** Since when each code is there; kept by this function. */
  readonly since: Map<string, string>;
}

export function makeReport(told: Told, around: ReportSurroundings): InstallerReport {
  const { held, now, functionalMs } = around;
  return {
    version: 1,
    clusterId: around.clusterId,
    installerVersion: around.installerVersion,
    installerInstance: around.installerInstance,
    observedRevision: Math.max(held.desired?.revision ?? 0, around.highestRevision),
    appliedRevision: held.appliedRevision,
    bundleDigest: held.bundleDigest,
    wantedBundle: told.wantedBundle ?? null,
    phase: told.phase,
    problem: problemOf(told, around.since, now),
    publicKeys: [...(told.publicKeys ?? [])],
    source: told.source ?? null,
    sync: told.sync ?? null,
    functionalAt: functionalMs === null ? null : new Date(functionalMs).toISOString(),
    ...(told.preflight ? { preflight: told.preflight } : {}),
    events: [...around.events],
  };
}

function problemOf({ problem }: Told, since: Map<string, string>, now: Date): InstallerReport['problem'] {
  const known = problem && since.get(problem.code);
  since.clear();
  if (!problem) return null;
  const at = known ?? now.toISOString();
  since.set(problem.code, at);
  return { code: problem.code, message: problem.message.slice(0, 1_024), since: at };
}

const MIN_GAP_MS = 1_000;
/** When the tool last answered is told this often, though nothing else changed. */
const MAX_AGE_MS = 60_000;

/** Writes the report to its ConfigMap where it changed, at most once a second: who writes sooner waits for the rest of it. */
export class ReportWriter {
  #last: InstallerReport | null = null;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly own: OwnObjects,
    private readonly clock: Clock,
  ) {}

  async write(report: InstallerReport, signal: AbortSignal): Promise<void> {
    const fitting = fitted(report);
    const ageMs = this.clock.monotonicMs() - this.#lastMs;
    if (this.#last && ageMs < MAX_AGE_MS && isDeepStrictEqual(timeless(fitting), timeless(this.#last))) return;
    const waitMs = MIN_GAP_MS - ageMs;
    if (waitMs > 0) await this.clock.sleep(waitMs, signal);
    const data = { [HANDOVER.keys.report]: JSON.stringify(InstallerReport.parse(fitting)) };
    await this.own.writeConfigMap(HANDOVER.report, { data });
    this.#last = fitting;
    this.#lastMs = this.clock.monotonicMs();
  }
}

/** When the tool was last looked at is no news. */
function timeless(report: InstallerReport): unknown {
  const { source, sync, functionalAt: _functionalAt, ...rest } = report;
  return { ...rest, source: source && { ...source, at: '' }, sync: sync && { ...sync, at: '' } };
}

/** Without its oldest events, if it would be too large. */
function fitted(report: InstallerReport): InstallerReport {
  let fitting = report;
  while (Buffer.byteLength(JSON.stringify(fitting)) > MAX_REPORT_BYTES && fitting.events.length > 0) {
    fitting = { ...fitting, events: fitting.events.slice(1) };
  }
  return fitting;
}
