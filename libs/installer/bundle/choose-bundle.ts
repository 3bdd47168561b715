import type { BundleReference, GitOpsSpec } from '@fairlead/desired-state';
import type { KubeObject } from '@fairlead/kube/rest';
import type { HeldState } from '../state/state-keeper.js';
import { attemptOf } from '../task.js';
import { Problem } from '../problem.js';
import type { BundleShelf } from './bundle-shelf.js';

/** Which bundle runs: the one that is desired, or the last good one, because the desired one failed or is not here yet. */
export type Runs = 'desired' | 'rolled-back' | 'awaited';

export interface ChosenBundle {
  readonly runs: Runs;
  readonly objects: readonly KubeObject[];
  readonly reference: Pick<BundleReference, 'digest' | 'bytes'>;
}

interface Choice {
  /** Null: there is none that could run. */
  readonly chosen: ChosenBundle | null;
  /** Why the desired bundle does not run, if that is for want of a bundle that can be used. */
  readonly missing: Problem | null;
}

/** The bundle to run. Codes of what is missing: BUNDLE_MISSING, BUNDLE_WRONG_DIGEST, BUNDLE_UNREADABLE. */
export async function chooseBundle(shelf: BundleShelf, held: HeldState, spec: GitOpsSpec): Promise<Choice> {
  const { good, givenUp } = held;
  const failed = good !== null && givenUp === attemptOf(spec);
  if (!failed) {
    const desired = await opened(shelf, spec.bundle);
    if (!(desired instanceof Problem)) {
      return { chosen: { runs: 'desired', objects: desired, reference: spec.bundle }, missing: null };
    }
    return { chosen: await lastGood(shelf, good, 'awaited'), missing: desired };
  }
  return { chosen: await lastGood(shelf, good, 'rolled-back'), missing: null };
}

async function opened(shelf: BundleShelf, desired: BundleReference): Promise<readonly KubeObject[] | Problem> {
  try {
    const objects = await shelf.open(desired);
    if (objects) return objects;
    return (await shelf.complaint(desired)) ?? new Problem('BUNDLE_MISSING', 'the bundle was not brought yet');
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

async function lastGood(shelf: BundleShelf, good: HeldState['good'], runs: Runs): Promise<ChosenBundle | null> {
  const objects = good && (await shelf.open(good));
  return objects && { runs, objects, reference: good };
}
