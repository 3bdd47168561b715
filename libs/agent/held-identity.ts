import type { AgentIdentity, IdentityStore } from './agent-identity.js';

/**
 * The identity that an agent has now. Its certificate and its roots change on their own, by a renewal and by a trust bundle:
 * each change is made to the newest, one after the other, and is stored before it counts.
 */
export class HeldIdentity {
  readonly #store: IdentityStore;
  readonly #listeners = new Set<() => void>();
  #current: AgentIdentity;
  #changing: Promise<unknown> = Promise.resolve();
  readonly #over = new AbortController();

  constructor(identity: AgentIdentity, store: IdentityStore) {
    this.#current = identity;
    this.#store = store;
  }

  get current(): AgentIdentity {
    return this.#current;
  }

  /** Calls back after each change. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Resolves with what is held then. Rejects, and nothing has changed, if it cannot be stored. */
  async change(to: (identity: AgentIdentity) => AgentIdentity): Promise<AgentIdentity> {
    const change = async (): Promise<AgentIdentity> => {
      const next = to(this.#current);
      if (next === this.#current || this.#over.signal.aborted) return this.#current;
      await this.#store.saveIdentity(next);
      this.#current = next;
      for (const listener of this.#listeners) listener();
      return next;
    };
    const changed = this.#changing.then(change);
    this.#changing = changed.catch(() => undefined);
    return changed;
  }

  /** Aborted when it was released. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Nothing of it is stored from now on: another one may have been taken up. */
  release(): void {
    this.#over.abort();
  }
}
