import { randomUUID } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';
import type { Objects } from '@fairlead/kube/rest';
import type { ProbeTarget } from '../drivers/driver.js';
import type { Finding } from '../ladder/ladder-state.js';
import { FIELD_MANAGER } from '../names.js';

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
 * The third layer of health: a controller that is asked to reconcile an object leaves something there that tells of it. One that is
 * Running and does nothing does not. `observe` never waits: it asks, and a later call reads the answer.
 */
export class FunctionalProbe {
  #asked: Asked | null = null;
  #answeredMs = Number.NEGATIVE_INFINITY;
  #finding: Finding | null = null;

  constructor(
    private readonly objects: Objects,
    private readonly limits: FunctionalLimits = FUNCTIONAL_LIMITS,
  ) {}

  /** When the tool last answered, in the caller's time; null: never. */
  get answeredMs(): number | null {
    return Number.isFinite(this.#answeredMs) ? this.#answeredMs : null;
  }

  /** Asks anew at the next observation, as after a restart. */
  forget(): void {
    this.#asked = null;
    this.#finding = null;
    this.#answeredMs = Number.NEGATIVE_INFINITY;
  }

  /** What is wrong, as far as it is known now. `unproven`: nothing was answered yet, and the time to answer is not over. */
  async observe(targets: readonly ProbeTarget[], nowMs: number): Promise<Finding | 'unproven' | null> {
    if (!this.#asked && nowMs - this.#answeredMs >= this.limits.everyMs) await this.#ask(targets, nowMs);
    if (this.#asked) await this.#readAnswers(this.#asked, nowMs);
    if (this.#finding) return this.#finding;
    return this.#answeredMs === Number.NEGATIVE_INFINITY ? 'unproven' : null;
  }

  async #ask(targets: readonly ProbeTarget[], nowMs: number): Promise<void> {
    const token = `${new Date(nowMs).toISOString()}/${randomUUID().slice(0, 8)}`;
    for (const target of targets) {
      if (target.make) await this.objects.apply(target.make, { fieldManager: FIELD_MANAGER, force: true });
      await this.#request(target, token);
    }
    this.#asked = { token, atMs: nowMs, targets };
  }

  async #request(target: ProbeTarget, token: string): Promise<void> {
    // Another manager than that of what is applied, so that the annotation is nobody's drift.
    const manager = `${FIELD_MANAGER}-request`;
    await this.objects.patch(target.ref, { type: 'merge', body: target.request(token) }, manager);
  }

  async #readAnswers(asked: Asked, nowMs: number): Promise<void> {
    const silent: ProbeTarget[] = [];
    for (const target of asked.targets) {
      const object = await this.objects.read(target.ref);
      const answer = object ? target.answer(object, asked.token) : 'none';
      if (answer === 'again') await this.#request(target, asked.token);
      if (answer !== 'given') silent.push(target);
    }
    if (silent.length === 0) {
      await this.#clean(asked.targets);
      this.#asked = null;
      this.#finding = null;
      this.#answeredMs = nowMs;
    } else if (nowMs - asked.atMs >= this.limits.answerMs) {
      this.#finding = findingOf(silent, this.limits.answerMs);
    }
  }

  async #clean(targets: readonly ProbeTarget[]): Promise<void> {
    for (const { ref, make } of targets.toReversed()) {
      if (make) await this.objects.remove(ref).catch(unlessGone);
    }
  }
}

function findingOf(silent: readonly ProbeTarget[], answerMs: number): Finding {
  const unheard = new Set(silent.map(({ workload }) => workload));
  const asked = silent.filter(({ through }) => through === undefined || !unheard.has(through));
  const workloads = [...new Set(asked.map(({ workload }) => workload))];
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
