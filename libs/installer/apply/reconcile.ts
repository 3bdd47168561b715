import { createHash } from 'node:crypto';
import type { Clock } from '@fairlead/clock';
import { FairleadError, messageOf } from '@fairlead/errors';
import { keyOf, refOf, shown, type KubeObject, type Objects, type ObjectRef } from '@fairlead/kube/rest';
import { OURS } from '../names.js';
import { Trouble } from '../trouble.js';
import { compare, type Comparison } from './compare.js';
import { untilEstablished } from './established.js';
import { inOrder } from './order.js';
import { recreate, write } from './write.js';

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
  /** Everything is as it is wanted, or left because somebody asked for it. */
  readonly complete: boolean;
}

export interface ReconcileOptions {
  /** `look`: nothing is written. `recreate`: workloads are deleted and made anew, whether they differ or not. */
  readonly mode: 'look' | 'apply' | 'recreate';
  readonly signal: AbortSignal;
}

interface Seen {
  readonly version: string;
  readonly wanted: string;
  readonly honoured: readonly string[];
}

/**
 * The one path of installation, upgrade and repair: brings objects to what is wanted, stage by stage, and writes nothing where nothing
 * differs. What was found the same is asked for again only when its version changed, or every `fullLookMs`: a look at a cluster that
 * nobody touched is one list for each kind.
 */
export class Reconciler {
  readonly #objects: Objects;
  readonly #clock: Clock;
  readonly #fullLookMs: number;
  readonly #seen = new Map<string, Seen>();
  #lastFullMs = Number.NEGATIVE_INFINITY;

  constructor(objects: Objects, clock: Clock, fullLookMs = 300_000) {
    this.#objects = objects;
    this.#clock = clock;
    this.#fullLookMs = fullLookMs;
  }

  async reconcile(wanted: readonly KubeObject[], { mode, signal }: ReconcileOptions): Promise<Reconciliation> {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#lastFullMs >= this.#fullLookMs) {
      this.#seen.clear();
      this.#lastFullMs = nowMs;
    }
    const versions = await this.#versions(wanted);
    const results: ObjectResult[] = [];
    for (const stage of inOrder(wanted)) {
      for (const object of stage) {
        signal.throwIfAborted();
        results.push(await this.#one(object, versions, mode));
      }
      const stuck = results.some(({ outcome }) => outcome === 'failed');
      // What comes later needs what comes first; a look tells all that there is.
      if (stuck && mode !== 'look') break;
      const late = mode === 'look' ? null : await untilEstablished(this.#objects, stage, this.#clock, signal);
      if (late) {
        results.push(failed(late, new Trouble('CRD_NOT_ESTABLISHED', 'the API server does not serve it')));
        break;
      }
    }
    const complete =
      results.length === wanted.length &&
      results.every(({ outcome }) => outcome !== 'failed' && outcome !== 'would-change');
    return { results, complete };
  }

  /** The version of each object of ours that the server has, by key. */
  async #versions(wanted: readonly KubeObject[]): Promise<Map<string, string>> {
    const kinds = new Map(wanted.map(({ apiVersion, kind }) => [`${apiVersion} ${kind}`, { apiVersion, kind }]));
    const found = new Map<string, string>();
    if (this.#seen.size === 0) return found;
    for (const kind of kinds.values()) {
      const items = await this.#objects.list(kind, { labelSelector: OURS, metadataOnly: true });
      for (const item of items) found.set(keyOf(refOf(item)), item.metadata.resourceVersion ?? '');
    }
    return found;
  }

  async #one(
    wanted: KubeObject,
    versions: ReadonlyMap<string, string>,
    mode: ReconcileOptions['mode'],
  ): Promise<ObjectResult> {
    const ref = refOf(wanted);
    const digest = createHash('sha256').update(JSON.stringify(wanted)).digest('base64');
    const seen = this.#seen.get(keyOf(ref));
    const anew = mode === 'recreate' && wanted.kind === 'Deployment';
    if (seen && !anew && seen.wanted === digest && seen.version === versions.get(keyOf(ref))) {
      return { ref, outcome: 'same', honoured: seen.honoured };
    }
    this.#seen.delete(keyOf(ref));
    try {
      const comparison = await compare(this.#objects, wanted);
      const honoured = 'honoured' in comparison ? comparison.honoured : [];
      if (comparison.kind === 'left') return { ref, outcome: 'left', honoured };
      if (comparison.kind === 'same' && !anew) {
        const version = comparison.live.metadata.resourceVersion ?? '';
        this.#seen.set(keyOf(ref), { version, wanted: digest, honoured });
        return { ref, outcome: 'same', honoured };
      }
      if (mode === 'look') return { ref, outcome: 'would-change', honoured, ...errorOf(comparison) };
      const written = anew
        ? await recreate(this.#objects, wanted, 'live' in comparison ? comparison.live : null)
        : await write(this.#objects, wanted, comparison);
      const outcome = anew ? 'recreated' : outcomeOf(comparison);
      const { uid } = written.metadata;
      return { ref, outcome, honoured, ...(outcome === 'updated' || uid === undefined ? {} : { uid }) };
    } catch (error) {
      return failed(ref, error);
    }
  }
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
  if (error instanceof Trouble) {
    return { ref, outcome: 'failed', honoured: [], error: { code: error.code, message: error.message, httpStatus: 0 } };
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
