import type { Clock } from '@fairlead/clock';
import { keyOf, refOf, type KubeObject, type ObjectRef } from '@fairlead/kube/rest';

/** More than any bundle has objects. */
const MAX_OBJECTS = 4_000;

interface Departure {
  readonly uid: string | undefined;
  readonly sinceMs: number;
}

/**
 * Since when objects are seen to be deleted. Their own time of it is of the API server's clock, which may be minutes away from ours; so it
 * counts from when this process saw it first.
 */
export class Departures {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #seen = new Map<string, Departure>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** For how long, in milliseconds, this one is known to be leaving; 0 for one that was not seen so before. */
  seenForMs(live: KubeObject): number {
    const key = keyOf(refOf(live));
    const { uid } = live.metadata;
    const nowMs = this.#clock.monotonicMs();
    const known = this.#seen.get(key);
    if (known && known.uid === uid) return nowMs - known.sinceMs;
    if (this.#seen.size >= MAX_OBJECTS) this.#seen.clear();
    this.#seen.set(key, { uid, sinceMs: nowMs });
    return 0;
  }

  /** It is gone, or there again. */
  forget(ref: ObjectRef): void {
    this.#seen.delete(keyOf(ref));
  }
}
