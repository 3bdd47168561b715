import type { Assignment } from '@fairlead/contracts';

/** What a cluster follows at present. */
export interface AdoptedSpec {
  readonly version: number;
  readonly spec: Assignment;
}

/** An assignment that selects a cluster. */
export interface SelectedAssignment {
  readonly name: string;
  /** What all its clusters were brought to last; null: its first rollout has not ended yet. */
  readonly stable: Assignment | null;
  readonly stableVersion: number;
  /** A rollout decides which of its clusters gets what, and when. */
  readonly rollingOut: boolean;
}

/**
 * What a cluster is to follow, apart from what a rollout gives it: what it has, while a rollout of its assignment runs; else what that
 * assignment was last brought to.
 */
export function adopt(adopted: AdoptedSpec | null, selected: SelectedAssignment | undefined): AdoptedSpec | null {
  if (!selected) return null;
  const { name, stable, stableVersion, rollingOut } = selected;
  if (rollingOut || stable === null) return adopted;
  if (adopted?.spec.name === name && adopted.version >= stableVersion) return adopted;
  return { version: stableVersion, spec: stable };
}
