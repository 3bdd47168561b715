import { createHash } from 'node:crypto';
import type { Clock } from '@fairlead/clock';
import { FairleadError, messageOf } from '@fairlead/errors';
import { keyOf, refOf, shown, type KubeObject, type Objects, type ObjectRef } from '@fairlead/kube/rest';
import { CONTROLLER_KINDS } from '../health/workloads.js';
import { FIELD_MANAGER, OURS } from '../names.js';
import { Problem } from '../problem.js';
import { compare, type Comparison } from './compare.js';
import { Departures, letGo, recreate, write } from './write.js';
import { mayNarrow, narrowing } from './narrowing.js';
import { inOrder } from './order.js';

/** What became of one object. */
export interface ObjectResult {
  readonly ref: ObjectRef;
  readonly outcome: 'same' | 'left' | 'created' | 'updated' | 'recreated' | 'failed' | 'would-change';
  /** Fields that were left to others: `spec.replicas of helm`. */
  readonly honoured: readonly string[];
  /** Of one that was made, or made anew. */
  readonly uid?: string;
  readonly error?: { readonly code: string; readonly message: string; readonly httpStatus: number };
}

export interface Reconciliation {
  readonly results: readonly ObjectResult[];
  /** Everything is as it is desired, or left because somebody asked for it. */
  readonly complete: boolean;
}

export interface ReconcileOptions {
  /** `observe`: nothing is written. `recreate`: workloads are deleted and made anew, whether they differ or not. */
  readonly mode: 'observe' | 'apply' | 'recreate';
  readonly signal: AbortSignal;
  /** Objects in which no operator's fields are honoured. */
  readonly isOursAlone?: (ref: ObjectRef) => boolean;
  /** Why one of these is left as it is, if somebody puts it back each time: asked of those that differ. */
  readonly isContested?: (live: KubeObject) => Promise<Problem | null>;
}

interface Seen {
  readonly version: string;
  readonly desired: string;
  readonly honoured: readonly string[];
}

/**
 * The one path of installation, upgrade and repair: brings objects to what is desired, stage by stage, and writes nothing where nothing
 * differs. What was found the same is asked for again only when its version changed, or every `fullObservationMs`: observing a cluster that
 * nobody touched is one list for each kind.
 */
export class Reconciler {
  readonly #seen = new Map<string, Seen>();
  readonly #departures: Departures;
  #lastFullMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly objects: Objects,
    private readonly clock: Clock,
    private readonly fullObservationMs = 300_000,
  ) {
    this.#departures = new Departures(clock);
  }

  async reconcile(desired: readonly KubeObject[], options: ReconcileOptions): Promise<Reconciliation> {
    const { mode, signal } = options;
    const nowMs = this.clock.monotonicMs();
    if (nowMs - this.#lastFullMs >= this.fullObservationMs) {
      this.#seen.clear();
      this.#lastFullMs = nowMs;
    }
    const narrowed = mode === 'observe' ? [] : await this.#narrow(desired, options);
    const versions = await this.#versions(desired);
    const results: ObjectResult[] = [];
    const stages = inOrder(desired);
    for (const [at, stage] of stages.entries()) {
      for (const object of stage) {
        signal.throwIfAborted();
        results.push(await this.#one(object, versions, options));
      }
      // An observation tells all that there is.
      if (mode === 'observe') continue;
      const stuck = results.filter(({ outcome }) => outcome === 'failed');
      // What comes later needs what comes first; but who lets go of the objects of a definition that is being deleted comes later.
      if (!stuck.every((result) => isLeaving(result) && result.ref.kind === 'CustomResourceDefinition')) {
        if (stuck.some(isLeaving)) results.push(...(await this.#letGo(stages.slice(at + 1).flat(), signal)));
        break;
      }
      const written = stage.filter((object) => !stuck.some(({ ref }) => keyOf(ref) === keyOf(refOf(object))));
      const late = await untilEstablished(this.objects, written, this.clock, signal);
      if (late) {
        results.push(failed(late, new Problem('CRD_NOT_ESTABLISHED', 'the API server does not serve it')));
        break;
      }
    }
    const complete =
      results.length === desired.length &&
      results.every(({ outcome }) => outcome !== 'failed' && outcome !== 'would-change');
    if (complete) return { results, complete };
    const reached = new Set(results.map(({ ref }) => keyOf(ref)));
    return { results: [...results, ...narrowed.filter(({ ref }) => !reached.has(keyOf(ref)))], complete };
  }

  /**
   * What only lets the tool follow less does not wait for what comes first in the order, and may fail: it is no part of the order that
   * anything else needs. What could not be written is tried again in order.
   */
  async #narrow(desired: readonly KubeObject[], { signal, isOursAlone }: ReconcileOptions): Promise<ObjectResult[]> {
    const results: ObjectResult[] = [];
    for (const object of desired.filter(mayNarrow)) {
      signal.throwIfAborted();
      const ref = refOf(object);
      try {
        const live = await this.objects.read(ref);
        const body = live && narrowing(live, object, isOursAlone?.(ref) ?? false);
        if (!body) continue;
        await this.objects.patch(ref, { type: 'merge', body }, FIELD_MANAGER);
        results.push({ ref, outcome: 'updated', honoured: [] });
      } catch (error) {
        results.push(failed(ref, error));
      }
    }
    return results;
  }

  /** What is being deleted may wait for these, as a namespace does for what is in it. Returns what could not be let go of. */
  async #letGo(later: readonly KubeObject[], signal: AbortSignal): Promise<ObjectResult[]> {
    const results: ObjectResult[] = [];
    for (const object of later) {
      signal.throwIfAborted();
      const ref = refOf(object);
      try {
        const live = await this.objects.read(ref);
        if (live?.metadata.deletionTimestamp !== undefined) await letGo(this.objects, live, this.#departures);
      } catch (error) {
        results.push(failed(ref, error));
      }
    }
    return results;
  }

  /** The version of each object of ours that the server has, by key. */
  async #versions(desired: readonly KubeObject[]): Promise<Map<string, string>> {
    const kinds = new Map(desired.map(({ apiVersion, kind }) => [`${apiVersion} ${kind}`, { apiVersion, kind }]));
    const found = new Map<string, string>();
    if (this.#seen.size === 0) return found;
    for (const kind of kinds.values()) {
      const items = await this.objects.list(kind, { labelSelector: OURS, metadataOnly: true });
      for (const item of items) found.set(keyOf(refOf(item)), item.metadata.resourceVersion ?? '');
    }
    return found;
  }

  /** Its time begins with the first observation that sees it leave. */
  #note(ref: ObjectRef, comparison: Comparison): void {
    if (comparison.kind === 'terminating') this.#departures.seenForMs(comparison.live);
    else this.#departures.forget(ref);
  }

  async #one(
    desired: KubeObject,
    versions: ReadonlyMap<string, string>,
    { mode, isOursAlone = () => false, isContested }: ReconcileOptions,
  ): Promise<ObjectResult> {
    const ref = refOf(desired);
    const digest = createHash('sha256').update(JSON.stringify(desired)).digest('base64');
    const seen = this.#seen.get(keyOf(ref));
    const anew = mode === 'recreate' && CONTROLLER_KINDS.has(desired.kind);
    if (seen && !anew && seen.desired === digest && seen.version === versions.get(keyOf(ref))) {
      return { ref, outcome: 'same', honoured: seen.honoured };
    }
    this.#seen.delete(keyOf(ref));
    try {
      const comparison = await compare(this.objects, desired, isOursAlone(ref));
      const honoured = 'honoured' in comparison ? comparison.honoured : [];
      this.#note(ref, comparison);
      const contest = comparison.kind === 'differs' && isOursAlone(ref) ? await isContested?.(comparison.live) : null;
      if (contest) return { ref, outcome: 'left', honoured, error: toldOf(contest) };
      if (comparison.kind === 'left') return { ref, outcome: 'left', honoured };
      if (comparison.kind === 'same' && !anew) {
        const version = comparison.live.metadata.resourceVersion ?? '';
        this.#seen.set(keyOf(ref), { version, desired: digest, honoured });
        return { ref, outcome: 'same', honoured };
      }
      if (mode === 'observe') return { ref, outcome: 'would-change', honoured, ...errorOf(comparison) };
      if (anew && comparison.kind === 'refused') throw comparison.error;
      const written = anew
        ? await recreate(this.objects, desired, 'live' in comparison ? comparison.live : null)
        : await write(this.objects, desired, comparison, this.#departures);
      const outcome = anew ? 'recreated' : outcomeOf(comparison);
      const { uid } = written.metadata;
      return { ref, outcome, honoured, ...(outcome === 'updated' || uid === undefined ? {} : { uid }) };
    } catch (error) {
      return failed(ref, error);
    }
  }
}

function toldOf({ code, message }: Problem): NonNullable<ObjectResult['error']> {
  return { code, message, httpStatus: 0 };
}

/** Somebody deleted it, and it is not gone yet. */
function isLeaving({ error }: ObjectResult): boolean {
  return error?.code === 'OBJECT_TERMINATING';
}

function outcomeOf({ kind }: Comparison): ObjectResult['outcome'] {
  if (kind === 'missing') return 'created';
  return kind === 'immutable' ? 'recreated' : 'updated';
}

function errorOf(comparison: Comparison): Pick<ObjectResult, 'error'> {
  return 'error' in comparison ? { error: told(comparison.error) } : {};
}

/** What is wrong with one object does not hide what is wrong with others; without an API server there is nothing to be said of any. */
function failed(ref: ObjectRef, error: unknown): ObjectResult {
  if (error instanceof Problem) {
    return { ref, outcome: 'failed', honoured: [], error: toldOf(error) };
  }
  if (!(error instanceof FairleadError) || error.details?.['httpStatus'] === undefined) {
    // A kind that is not served, as when its definition was deleted.
    if (error instanceof FairleadError && error.code === 'NOT_FOUND')
      return { ref, outcome: 'failed', honoured: [], error: told(error) };
    throw error;
  }
  return { ref, outcome: 'failed', honoured: [], error: told(error) };
}

function told(error: FairleadError): { code: string; message: string; httpStatus: number } {
  return {
    code: error.code,
    message: messageOf(error).slice(0, 500),
    httpStatus: Number(error.details?.['httpStatus'] ?? 0),
  };
}

/** `Deployment flux-system/source-controller, ServiceAccount … and 3 more`. */
export function shownAll(refs: readonly ObjectRef[]): string {
  const some = refs.slice(0, 3).map(shown).join(', ');
  return refs.length > 3 ? `${some} and ${refs.length - 3} more` : some;
}

const DEADLINE_MS = 30_000;
const PAUSE_MS = 100;

/** Waits until the server serves what these definitions define. After 30 s: the first that it does not; null: all are served. */
async function untilEstablished(
  objects: Objects,
  stage: readonly KubeObject[],
  clock: Clock,
  signal: AbortSignal,
): Promise<ObjectRef | null> {
  const until = clock.monotonicMs() + DEADLINE_MS;
  for (const definition of stage.filter(({ kind }) => kind === 'CustomResourceDefinition')) {
    while (!isEstablished(await objects.read(refOf(definition)))) {
      if (clock.monotonicMs() > until) return refOf(definition);
      await clock.sleep(PAUSE_MS, signal);
    }
  }
  return null;
}

function isEstablished(definition: KubeObject | null): boolean {
  const status = definition?.['status'] as { conditions?: { type: string; status: string }[] } | undefined;
  return status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ?? false;
}
