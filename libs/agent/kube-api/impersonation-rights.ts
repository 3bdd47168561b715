import { FairleadError, oneLine } from '@fairlead/errors';
import type { TunnelIdentity } from '@fairlead/kube-http';
import { BoundedMap } from '@fairlead/limits';
import { reviewRight } from '../facts/review-right.js';
import type { KubeApiTarget } from './kube-api-target.js';

const MAX_GROUPS = 256;
/** How long an answer counts: whoever applies the manifest again should not wait for long, nor should a refusal cost a question each. */
const KNOWN_MS = 10_000;
const TIMEOUT_MS = 5_000;

interface Known {
  readonly allowed: boolean;
  readonly untilMs: number;
}

/**
 * Tells a request that the kube-apiserver refused to the user from one that it refused to the agent, whose import manifest is older than the
 * group. It asks instead of reading the answer: clients choose its encoding, and its words are the kube-apiserver's.
 */
export class ImpersonationRights {
  readonly #target: KubeApiTarget;
  readonly #nowMs: () => number;
  readonly #known = new BoundedMap<string, Known>({ max: MAX_GROUPS, overflow: 'forget-oldest' });

  constructor(target: KubeApiTarget, nowMs: () => number) {
    this.#target = target;
    this.#nowMs = nowMs;
  }

  /** To be asked after a 403. Throws IDENTITY_REFUSED for a group that the agent may not impersonate; what cannot be learned counts as allowed. */
  async assertHeld({ groups }: Pick<TunnelIdentity, 'groups'>): Promise<void> {
    const allowed = await Promise.all(groups.map((group) => this.#isAllowed(group)));
    const missing = groups.find((_, index) => allowed[index] === false);
    if (missing === undefined) return;
    const what = `the agent may not act for the group ${oneLine(missing)} in this cluster`;
    throw new FairleadError('IDENTITY_REFUSED', `${what}: apply its import manifest again (fairlead cluster import)`);
  }

  async #isAllowed(group: string): Promise<boolean> {
    const known = this.#known.get(group);
    if (known && this.#nowMs() < known.untilMs) return known.allowed;
    const right = { verb: 'impersonate', resource: 'groups', name: group };
    try {
      const allowed = await reviewRight(this.#target, right, AbortSignal.timeout(TIMEOUT_MS));
      this.#known.set(group, { allowed, untilMs: this.#nowMs() + KNOWN_MS });
      return allowed;
    } catch {
      // The kube-apiserver's own answer then stands.
      return true;
    }
  }
}
