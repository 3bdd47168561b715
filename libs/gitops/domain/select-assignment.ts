import type { Assignment } from '@fairlead/contracts';

/** What assignments choose clusters by. */
export interface Selectable {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The one that counts for a cluster: the highest priority, then the more exact selector, then the name. Undefined: none selects it. */
export function selectAssignment<T extends Pick<Assignment, 'name' | 'selector' | 'priority'>>(
  assignments: readonly T[],
  cluster: Selectable,
): T | undefined {
  let best: T | undefined;
  for (const candidate of assignments) {
    if (selects(candidate, cluster) && (!best || counts(candidate, best))) best = candidate;
  }
  return best;
}

export function selects({ selector }: Pick<Assignment, 'selector'>, { name, labels }: Selectable): boolean {
  if ('cluster' in selector) return selector.cluster === name;
  return Object.entries(selector.labels).every(([key, value]) => labels[key] === value);
}

type Ranked = Pick<Assignment, 'name' | 'selector' | 'priority'>;

function counts(left: Ranked, right: Ranked): boolean {
  if (left.priority !== right.priority) return left.priority > right.priority;
  const [exactLeft, exactRight] = [exactness(left), exactness(right)];
  return exactLeft === exactRight ? left.name < right.name : exactLeft > exactRight;
}

function exactness({ selector }: Ranked): number {
  return 'cluster' in selector ? Number.POSITIVE_INFINITY : Object.keys(selector.labels).length;
}

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
