import { randomUUID } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';
import type { KubeObject, Objects } from '@fairlead/kube/rest';
import type { ProbeTarget } from '../drivers/driver.js';
import type { Finding } from '../ladder/ladder-state.js';
import { FIELD_MANAGER } from '../names.js';

const REQUEST = 'reconcile.fluxcd.io/requestedAt';

export interface FunctionalLimits {
  /** How often the tool is asked. */
  readonly everyMs: number;
  /** What it has to answer. */
  readonly answerMs: number;
}

export const FUNCTIONAL_LIMITS: FunctionalLimits = { everyMs: 60_000, answerMs: 90_000 };

interface Asked {
  readonly token: string;
  readonly atMs: number;
  readonly targets: readonly ProbeTarget[];
}

/**
 * The third layer of health: a controller that is asked to reconcile notes the request in the status of the object. One that is
 * Running and does nothing does not. `look` never waits: it asks, and a later look reads the answer.
 */
export class FunctionalProbe {
  readonly #objects: Objects;
  readonly #limits: FunctionalLimits;
  #asked: Asked | null = null;
  #answeredMs = Number.NEGATIVE_INFINITY;
  #finding: Finding | null = null;

  constructor(objects: Objects, limits: FunctionalLimits = FUNCTIONAL_LIMITS) {
    this.#objects = objects;
    this.#limits = limits;
  }

  /** When the tool last answered, in the caller's time; null: never. */
  get answeredMs(): number | null {
    return Number.isFinite(this.#answeredMs) ? this.#answeredMs : null;
  }

  /** Asks anew at the next look, as after a restart. */
  forget(): void {
    this.#asked = null;
    this.#finding = null;
    this.#answeredMs = Number.NEGATIVE_INFINITY;
  }

  /** What is wrong, as far as it is known now. `unproven`: nothing was answered yet, and the time to answer is not over. */
  async look(targets: readonly ProbeTarget[], nowMs: number): Promise<Finding | 'unproven' | null> {
    if (!this.#asked && nowMs - this.#answeredMs >= this.#limits.everyMs) await this.#ask(targets, nowMs);
    if (this.#asked) await this.#readAnswers(this.#asked, nowMs);
    if (this.#finding) return this.#finding;
    return this.#answeredMs === Number.NEGATIVE_INFINITY ? 'unproven' : null;
  }

  async #ask(targets: readonly ProbeTarget[], nowMs: number): Promise<void> {
    const token = `${new Date(nowMs).toISOString()}/${randomUUID().slice(0, 8)}`;
    const body = { metadata: { annotations: { [REQUEST]: token } } };
    for (const { ref, make } of targets) {
      if (make) await this.#objects.apply(make, { fieldManager: FIELD_MANAGER, force: true });
      // Another manager than that of what is applied, so that the annotation is nobody's drift.
      await this.#objects.patch(ref, { type: 'merge', body }, `${FIELD_MANAGER}-request`);
    }
    this.#asked = { token, atMs: nowMs, targets };
  }

  async #readAnswers(asked: Asked, nowMs: number): Promise<void> {
    const silent: ProbeTarget[] = [];
    for (const target of asked.targets) {
      if (!answered(await this.#objects.read(target.ref), asked.token)) silent.push(target);
    }
    if (silent.length === 0) {
      await this.#clean(asked.targets);
      this.#asked = null;
      this.#finding = null;
      this.#answeredMs = nowMs;
    } else if (nowMs - asked.atMs >= this.#limits.answerMs) {
      this.#finding = findingOf(silent, this.#limits.answerMs);
    }
  }

  async #clean(targets: readonly ProbeTarget[]): Promise<void> {
    for (const { ref, make } of targets.toReversed()) {
      if (make) await this.#objects.remove(ref).catch(unlessGone);
    }
  }
}

function answered(object: KubeObject | null, token: string): boolean {
  return (object?.['status'] as { lastHandledReconcileAt?: string } | undefined)?.lastHandledReconcileAt === token;
}

function findingOf(silent: readonly ProbeTarget[], answerMs: number): Finding {
  const workloads = [...new Set(silent.map(({ deployment }) => deployment))];
  return {
    layer: 'functional',
    code: 'NOT_RECONCILING',
    message: `${workloads.join(', ')} did not answer a reconcile request within ${Math.round(answerMs / 1_000)} s`,
    workloads,
  };
}

function unlessGone(error: unknown): void {
  if (!(error instanceof FairleadError) || error.code !== 'NOT_FOUND') throw error;
}
