import type { GitOpsSpec } from '@fairlead/desired-state';
import type { KubeObject, ObjectRef, Objects } from '@fairlead/kube/rest';
import { saysPolicy } from './apply/immutable.js';
import {
  shownAll,
  type ObjectResult,
  type ReconcileOptions,
  type Reconciler,
  type Reconciliation,
} from './apply/reconcile.js';
import type { ProbeTarget, ToolDriver } from './drivers/driver.js';
import type { FunctionalProbe } from './health/functional.js';
import { observeWorkloads } from './health/workloads.js';
import type { Finding } from './ladder/ladder-state.js';

export interface ToolObservation {
  readonly reconciliation: Reconciliation;
  /** The first layer that is not as it should be. */
  readonly finding: Finding | null;
  /** All is well, as far as it is known: the tool has not answered yet, and has time to. */
  readonly unproven: boolean;
}

interface Observer {
  readonly objects: Objects;
  readonly reconciler: Reconciler;
  readonly functional: FunctionalProbe;
}

/** Looks at the three layers, each only when the one below it is well. Writes nothing but a reconcile request. */
export async function observe(
  { objects, reconciler, functional }: Observer,
  driver: Pick<ToolDriver, 'isOursAlone' | 'contested'>,
  spec: GitOpsSpec,
  desiredObjects: readonly KubeObject[],
  probes: readonly ProbeTarget[],
  nowMs: number,
  signal: AbortSignal,
): Promise<ToolObservation> {
  const ownership = ownershipOf(objects, driver, spec);
  const reconciliation = await reconciler.reconcile(desiredObjects, { mode: 'observe', signal, ...ownership });
  const seen = (finding: Finding | null, unproven = false): ToolObservation => ({ reconciliation, finding, unproven });
  if (!reconciliation.complete) return seen(findingOf(reconciliation.results));
  const workloads = await observeWorkloads(objects, desiredObjects);
  if (workloads) return seen(workloads);
  const answer = await functional.observe(probes, nowMs);
  return answer === 'unproven' ? seen(null, true) : seen(answer);
}

/** What of the desired objects is nobody else's. */
export function ownershipOf(
  objects: Objects,
  driver: Pick<ToolDriver, 'isOursAlone' | 'contested'>,
  spec: GitOpsSpec,
): Required<Pick<ReconcileOptions, 'isOursAlone' | 'isContested'>> {
  return {
    isOursAlone: (ref: ObjectRef) => driver.isOursAlone(ref, spec),
    isContested: (live: KubeObject) => driver.contested(objects, live),
  };
}

/** What is wrong with the first layer. */
export function findingOf(results: readonly ObjectResult[]): Finding {
  const differing = results.filter(({ outcome }) => outcome === 'failed' || outcome === 'would-change');
  const [refused] = differing.flatMap(({ error }) => error ?? []);
  const names = shownAll(differing.map(({ ref }) => ref));
  return {
    layer: 'objects',
    code: refused ? codeOf(refused) : 'OBJECTS_DIFFER',
    message: refused ? `${names}: ${refused.message}` : `not as it was applied: ${names}`,
    workloads: [],
  };
}

function codeOf({ code, message }: NonNullable<ObjectResult['error']>): string {
  if (saysPolicy(message)) return 'APPLY_FORBIDDEN';
  switch (code) {
    case 'FORBIDDEN':
      return 'APPLY_FORBIDDEN';
    case 'INVALID_ARGUMENT':
      return 'APPLY_INVALID';
    case 'INTERNAL':
      return 'APPLY_FAILED';
    case 'NOT_FOUND':
      return 'OBJECTS_DIFFER';
    default:
      return code;
  }
}
