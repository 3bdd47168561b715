import { createHash } from 'node:crypto';
import type { DesiredState, GitOpsSpec } from '@fairlead/desired-state';
import { keyOf, refOf } from '@fairlead/kube/rest';
import { actOn, tellWritten } from './act.js';
import type { ChosenBundle } from './bundle/choose-bundle.js';
import { withImages } from './bundle/pod-template.js';
import { withLabels } from './names.js';
import type { ToolDriver } from './drivers/driver.js';
import type { DeployKey } from './keys/deploy-keys.js';
import type { Finding, LadderStatus, Observation } from './ladder/ladder-state.js';
import { step } from './ladder/ladder.js';
import { observe, type ToolObservation, ownershipOf } from './observe.js';
import type { History } from './report/history.js';
import type { Task, ToolKeeperParts } from './task.js';
import { Problem } from './problem.js';

/** How the tool stands after one observation and, perhaps, one repair. */
export interface Standing {
  readonly status: LadderStatus;
  readonly finding: Finding | null;
  /** What of ours is left to somebody else who puts it back each time. The tool works all the same. */
  readonly conflict: Problem | null;
}

/** Brings a tool to what is desired, and keeps it there: one observation, one step of the ladder, at most one action. */
export async function tend(
  parts: ToolKeeperParts,
  driver: ToolDriver,
  desired: DesiredState & { gitops: GitOpsSpec },
  { runs, objects, reference }: ChosenBundle,
  keys: readonly DeployKey[],
  signal: AbortSignal,
): Promise<Standing> {
  const { keeper, clock } = parts;
  const spec = desired.gitops;
  const sources = withLabels(driver.sources(spec, keys), driver.tool);
  const desiredObjects = [...withLabels(withImages(driver.adapt(objects, spec), spec.images), driver.tool), ...sources];
  const key = createHash('sha256').update(JSON.stringify(desiredObjects)).digest('hex');
  const applied = keeper.held.appliedKey === key;
  const proven = keeper.held.good?.digest === reference.digest;
  // A revision is applied as a whole only with the bundle that it names.
  const revision = runs === 'desired' ? desired.revision : keeper.held.appliedRevision;
  if (applied && proven && spec.selfHeal === 'off') {
    await keeper.keep({ appliedRevision: revision });
    return { status: 'healthy', finding: null, conflict: null };
  }
  const observation = await observe(
    parts,
    driver,
    spec,
    desiredObjects,
    driver.probes(spec, sources),
    clock.nowMs(),
    signal,
  );
  tellHonoured(parts.history, observation);
  const conflict = conflictOf(observation);
  if (applied && observation.reconciliation.complete) await keeper.keep({ appliedRevision: revision });
  if (applied && observation.unproven) return { status: keeper.held.ladder.status, finding: null, conflict };
  const seen: Observation = {
    wanted: key,
    applied,
    proven,
    canRollBack: keeper.held.good !== null && keeper.held.good.digest !== reference.digest,
    selfHeal: spec.selfHeal,
    holdRepairs: spec.holdRepairs,
    finding: observation.finding,
  };
  const task = { driver, spec, desiredObjects, key, reference, revision };
  const { acted, ...climbed } = await climb(parts, task, seen, signal);
  // Neither a budget nor a hold is a reason to follow what somebody else trusts.
  if (applied && !acted && spec.selfHeal === 'enforce') await putBackTrust(parts, task, observation, signal);
  return { ...climbed, conflict };
}

async function climb(
  parts: ToolKeeperParts,
  task: Task,
  seen: Observation,
  signal: AbortSignal,
): Promise<Pick<Standing, 'status' | 'finding'> & { readonly acted: boolean }> {
  const { keeper, history, clock, limits } = parts;
  const before = keeper.held.ladder;
  const { state, action } = step(before, seen, clock.nowMs(), limits);
  const { finding } = seen;
  if (finding && state.status !== 'installing') {
    history.recordOnce('observed', '', `${finding.code}: ${finding.message}`);
  }
  if (state.status === 'escalated' && before.status !== 'escalated') {
    history.record('escalated', '', finding ? `${finding.code}: ${finding.message}` : 'it cannot be applied');
  }
  // Kept before it is done: whoever dies in the middle has spent it.
  await keeper.keep({ ladder: state });
  if (state.status === 'healthy' && before.status !== 'healthy') await becameHealthy(parts, task);
  const failure = action ? await actOn(parts, task, action, signal) : null;
  return { status: state.status, finding: failure ?? finding, acted: action !== null };
}

async function becameHealthy({ keeper, shelf, history }: ToolKeeperParts, { reference }: Task): Promise<void> {
  history.record('healthy', '', `the tool works with the bundle ${reference.digest.slice(0, 12)}`);
  if (keeper.held.good?.digest === reference.digest) return;
  if (await shelf.keepGood(reference))
    await keeper.keep({ good: { digest: reference.digest, bytes: reference.bytes } });
}

function tellHonoured(history: History, { reconciliation }: ToolObservation): void {
  for (const { ref, honoured, outcome, error } of reconciliation.results) {
    const name = `${ref.kind} ${ref.namespace === undefined ? '' : `${ref.namespace}/`}${ref.name}`;
    if (honoured.length > 0) history.recordOnce('observed', name, `left to others: ${honoured.slice(0, 5).join(', ')}`);
    if (outcome === 'left') history.recordOnce('observed', name, error?.message ?? 'left alone, as it is annotated');
  }
}

/** What was left for another reason than that somebody asked for it. */
function conflictOf({ reconciliation }: ToolObservation): Problem | null {
  const [first] = reconciliation.results.flatMap(({ outcome, error }) => (outcome === 'left' && error ? [error] : []));
  return first ? new Problem(first.code, first.message) : null;
}

/**
 * Puts back what the tool trusts and follows, and nothing else, where the ladder does nothing: the repairs of the hour are spent, the fleet
 * holds them, or it waits. Whoever changed it has to do so again after each observation: at most one round in `trustMs`, and each object is told.
 */
async function putBackTrust(
  { reconciler, objects, history, trustPace, clock }: ToolKeeperParts,
  { driver, spec, desiredObjects }: Task,
  { reconciliation }: ToolObservation,
  signal: AbortSignal,
): Promise<void> {
  const differing = new Set(
    reconciliation.results
      .filter(({ ref, outcome }) => outcome === 'would-change' && driver.isOursAlone(ref, spec))
      .map(({ ref }) => keyOf(ref)),
  );
  if (differing.size === 0 || !trustPace.take(clock.monotonicMs())) return;
  const some = desiredObjects.filter((object) => differing.has(keyOf(refOf(object))));
  const options = { mode: 'apply', signal, ...ownershipOf(objects, driver, spec) } as const;
  // Each by itself: who keeps one of them from being written, as by a finalizer, does not keep what comes later in the order.
  for (const object of some) {
    const { results } = await reconciler.reconcile([object], options);
    for (const result of results) tellWritten(history, result, false);
  }
}
