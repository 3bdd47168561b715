import type {
  InstallerReport,
  ObjectEvent,
  Phase,
  PreflightReport,
  PublicKey,
  SourceState,
} from '@fairlead/desired-state';
import type { HeldState } from '../state/held-state.js';

/** What one look at the cluster has to say. */
export interface Told {
  readonly phase: Phase;
  readonly problem: { readonly code: string; readonly message: string } | null;
  readonly wantedBundle?: string | null;
  readonly publicKeys?: readonly PublicKey[];
  readonly source?: SourceState | null;
  readonly sync?: SourceState | null;
  readonly preflight?: PreflightReport | null;
}

export interface ReportSurroundings {
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
