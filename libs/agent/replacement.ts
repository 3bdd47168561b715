import { toFairleadError } from '@fairlead/errors';
import { parseToken } from '@fairlead/pki';
import type { AgentIdentity } from './agent-identity.js';
import type { AgentOptions } from './agent-options.js';
import { enrolWithToken } from './enrol-with-token.js';
import { isOwn } from './own-cluster.js';

/** Looks for a successor of an identity that is refused: one that was handed out, or a bootstrap token that it did not come from. */
export class Replacement {
  readonly #options: AgentOptions;
  readonly #refused: AgentIdentity;
  readonly #signal: AbortSignal;
  readonly #found = new AbortController();
  #identity: AgentIdentity | null = null;
  #enrolling = false;
  #attempts = 0;

  constructor(options: AgentOptions, refused: AgentIdentity, signal: AbortSignal) {
    this.#options = options;
    this.#refused = refused;
    this.#signal = signal;
  }

  /** Aborted when there is a successor. */
  get found(): AbortSignal {
    return this.#found.signal;
  }

  get identity(): AgentIdentity | null {
    return this.#identity;
  }

  /** Called at each refusal; they are slow, and that is the pace of the tries. Never throws. */
  consider(): void {
    if (this.#enrolling || this.#identity) return;
    this.#enrolling = true;
    void this.#tryOnce().finally(() => (this.#enrolling = false));
  }

  async #tryOnce(): Promise<void> {
    const { logger, store, clusterId } = this.#options;
    try {
      const { identity } = await store.load();
      if (identity && isOwn(identity, clusterId) && isOther(identity, this.#refused)) {
        this.#identity = identity;
        this.#found.abort();
        return;
      }
      const text = await this.#options.token();
      if (text === null || parseToken(text).id === this.#refused.tokenId) return;
      logger.warn('agent.identity.refused', {
        clusterId: this.#refused.clusterId,
        next: 'enrolling with a newer token',
      });
      this.#identity = await enrolWithToken(this.#options, this.#attempts, this.#signal);
      this.#found.abort();
    } catch (error) {
      const { code, message } = toFairleadError(error);
      logger.warn('agent.replacement.failed', { attempt: this.#attempts, code, reason: message });
    }
    this.#attempts += 1;
  }
}

/** A renewed certificate of the same enrolment is refused as well. */
function isOther(one: AgentIdentity, other: AgentIdentity): boolean {
  return one.clusterId !== other.clusterId || one.generation !== other.generation;
}
