import { setImmediate as othersWorked } from 'node:timers/promises';
import type { Clock } from '@fairlead/clock';
import { FairleadError } from '@fairlead/errors';
import type { KubeObject, Objects } from '@fairlead/kube/rest';
import { silentLogger } from '@fairlead/observability';
import { Lease, LEASE_LIMITS } from '../lease/lease.js';

/** Time that passes when it is told to, for who sleeps by it. Each process of a test has its own. */
class SteppedClock implements Clock {
  monotonic = 0;
  wall = Date.parse('2026-11-22T12:00:00Z');
  #sleepers: { readonly at: number; readonly wake: () => void }[] = [];

  nowMs = (): number => this.wall;
  monotonicMs = (): number => this.monotonic;

  sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const stop = (): void => reject(new Error('stopped'));
      if (signal?.aborted) return stop();
      signal?.addEventListener('abort', stop, { once: true });
      this.#sleepers.push({ at: this.monotonic + ms, wake: resolve });
    });

  /** Passes, second by second, and lets work what is due. */
  async pass(ms: number): Promise<void> {
    await settled();
    for (let left = ms; left > 0; left -= 1_000) {
      this.jump(Math.min(left, 1_000));
      const due = this.#sleepers.filter(({ at }) => at <= this.monotonic);
      this.#sleepers = this.#sleepers.filter(({ at }) => at > this.monotonic);
      for (const { wake } of due) wake();
      await settled();
    }
  }

  /** Passes while nobody can work, as in a process that is stopped. */
  jump(ms: number): void {
    this.monotonic += ms;
    this.wall += ms;
  }
}

/** What is under way has done all that needs no time. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await othersWorked();
}

/** One Lease as an API server keeps it, with its versions, for several who reach for it. */
export class LeaseWorld {
  lease: KubeObject | null = null;
  /** What each write ends with, instead of being done. */
  refusal: FairleadError | null = null;
  #version = 0;

  readonly #objects = {
    read: () => Promise.resolve(this.lease),
    create: (object: KubeObject) => this.#write(object, this.lease ? 'another' : undefined),
    patch: (_ref: unknown, { body }: { body: unknown }) => {
      const { metadata, spec } = body as { metadata: { resourceVersion: string }; spec: object };
      const before = this.lease?.['spec'] as object;
      return this.#write({ ...this.lease, spec: { ...before, ...spec } } as KubeObject, metadata.resourceVersion);
    },
  };

  get holder(): unknown {
    return (this.lease?.['spec'] as Record<string, unknown> | undefined)?.['holderIdentity'];
  }

  /** Somebody changed its metadata. */
  annotate(): Promise<KubeObject> {
    return this.#write(this.lease as KubeObject, this.lease?.metadata.resourceVersion);
  }

  contender(holder: string): { lease: Lease; clock: SteppedClock; failures: FairleadError[]; standby: () => number } {
    const clock = new SteppedClock();
    const failures: FairleadError[] = [];
    let standby = 0;
    const lease = new Lease({
      objects: this.#objects as unknown as Objects,
      namespace: 'fairlead-system',
      holder,
      clock,
      limits: LEASE_LIMITS,
      logger: silentLogger,
      onStandby: () => {
        standby += 1;
      },
      onFailed: (error) => {
        failures.push(error);
        return Promise.resolve();
      },
    });
    return { lease, clock, failures, standby: () => standby };
  }

  #write(object: KubeObject, version: string | undefined): Promise<KubeObject> {
    if (this.refusal) return Promise.reject(this.refusal);
    if (version !== this.lease?.metadata.resourceVersion) {
      return Promise.reject(
        new FairleadError('CONFLICT', 'it is another one by now', { details: { httpStatus: 409 } }),
      );
    }
    this.#version += 1;
    this.lease = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
    return Promise.resolve(this.lease);
  }
}
