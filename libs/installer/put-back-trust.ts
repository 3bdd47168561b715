import { keyOf, refOf } from '@fairlead/kube/rest';
import { tellWritten } from './act.js';
import { ownershipOf, type ToolObservation } from './observe.js';
import type { Task, ToolKeeperParts } from './task.js';

/**
 * Puts back what the tool trusts and follows, and nothing else, where the ladder does nothing: the repairs of the hour are spent, the fleet
 * holds them, or it waits. Whoever changed it has to do so again after each look: at most one round in `trustMs`, and each object is told.
 */
export async function putBackTrust(
  { reconciler, objects, history, trustPace, clock }: ToolKeeperParts,
  { driver, spec, wanted }: Task,
  { reconciliation }: ToolObservation,
  signal: AbortSignal,
): Promise<void> {
  const differing = new Set(
    reconciliation.results
      .filter(({ ref, outcome }) => outcome === 'would-change' && driver.isOursAlone(ref, spec))
      .map(({ ref }) => keyOf(ref)),
  );
  if (differing.size === 0 || !trustPace.take(clock.monotonicMs())) return;
  const some = wanted.filter((object) => differing.has(keyOf(refOf(object))));
  const options = { mode: 'apply', signal, ...ownershipOf(objects, driver, spec) } as const;
  // Each by itself: who keeps one of them from being written, as by a finalizer, does not keep what comes later in the order.
  for (const object of some) {
    const { results } = await reconciler.reconcile([object], options);
    for (const result of results) tellWritten(history, result, false);
  }
}
