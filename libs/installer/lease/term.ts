import type { Clock } from '@fairlead/clock';
import { FairleadError } from '@fairlead/errors';
import type { Objects } from '@fairlead/kube/rest';

/** From when one installer may act until another one may. */
export class Term {
  readonly #renew: () => Promise<void>;
  readonly #over = new AbortController();
  #renewed: ClockReadings;

  /** `renew`: tries to, once, now. */
  constructor(
    private readonly clock: Clock,
    private readonly deadlineMs: number,
    since: ClockReadings,
    renew: () => Promise<void>,
  ) {
    this.#renew = renew;
    this.#renewed = since;
  }

  /** Aborted as soon as it is known that another one may act. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  renewed(at: ClockReadings): void {
    this.#renewed = at;
  }

  end(): void {
    this.#over.abort();
  }

  /** To be awaited before each write: one that was held up, by itself or by others, finds out first whether it still counts. */
  async sure(): Promise<void> {
    if (!this.#over.signal.aborted && !this.#isFresh) await this.#renew();
    this.check();
  }

  /** CONFLICT if another one may act by now; UNAVAILABLE if it is too long ago that it was renewed. */
  check(): void {
    if (this.#over.signal.aborted) {
      throw new FairleadError('CONFLICT', 'another installer acts in this cluster: this one writes nothing more');
    }
    if (!this.#isFresh) {
      throw new FairleadError('UNAVAILABLE', 'the Lease could not be renewed in time: nothing is written until it is');
    }
  }

  get #isFresh(): boolean {
    return elapsedMs(this.clock, this.#renewed) < this.deadlineMs;
  }
}

/** By both clocks: one of them may stand still, as the monotonic one does while a virtual machine sleeps. */
interface ClockReadings {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function readClocks(clock: Clock): ClockReadings {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.nowMs() };
}

function elapsedMs(clock: Clock, { monotonicMs, wallMs }: ClockReadings): number {
  return Math.max(clock.monotonicMs() - monotonicMs, clock.nowMs() - wallMs);
}

/**
 * Objects that are written in this term only: it is renewed first if that is due, and asked again right before each request is sent, so that
 * who was held up in between (a long garbage collection, a stopped process) sends nothing that was decided before.
 */
export function fencedObjects(objects: Objects, term: Term): Objects {
  const guarded = objects.guarded(() => term.check());
  return {
    read: (ref) => objects.read(ref),
    list: (kind, options) => objects.list(kind, options),
    watch: (kind, options, signal) => objects.watch(kind, options, signal),
    guarded: (guard) =>
      objects.guarded(() => {
        term.check();
        guard();
      }),
    apply: async (object, spec) => {
      await term.sure();
      return guarded.apply(object, spec);
    },
    create: async (object, dryRun) => {
      await term.sure();
      return guarded.create(object, dryRun);
    },
    patch: async (ref, patch, fieldManager) => {
      await term.sure();
      return guarded.patch(ref, patch, fieldManager);
    },
    remove: async (ref, options) => {
      await term.sure();
      return guarded.remove(ref, options);
    },
  };
}
