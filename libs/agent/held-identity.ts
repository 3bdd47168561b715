import { FairleadError } from '@fairlead/errors';
import { saveInTurn, type AgentIdentity, type IdentityStore } from './agent-identity.js';

/**
 * The identity that an agent has now. Its certificate and its roots change on their own, by a renewal and by a trust bundle:
 * each change is made to the newest, one after the other, and is stored before it counts. Another pod of this cluster's agent may
 * have stored one: what is stored is the newest then, and is taken up.
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

  /**
   * Resolves with what is held then. Rejects, and nothing has changed, if it cannot be stored; CONFLICT if a later enrolment is stored, or
   * another cluster's.
   * `to` is asked again where another pod has stored a change in between.
   */
  change(to: (identity: AgentIdentity) => AgentIdentity): Promise<AgentIdentity> {
    return this.#inTurn(async () => {
      if (to(this.#current) === this.#current) return;
      await saveInTurn(this.#store, async ({ identity: stored, version }) => {
        this.#take(stored);
        const next = to(this.#current);
        if (next === this.#current || this.#over.signal.aborted) return;
        const changed = { ...next, changes: (this.#current.changes ?? 0) + 1 };
        await this.#store.saveIdentity(changed, version);
        this.#hold(changed);
      });
    });
  }

  /** Takes up what another pod has stored since, of the same enrolment. Resolves with what is held then; rejects as `change` does. */
  takeUp(): Promise<AgentIdentity> {
    return this.#inTurn(async () => this.#take((await this.#store.load()).identity));
  }

  /** Aborted when it was released. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Nothing of it is stored from now on: another one may have been taken up. */
  release(): void {
    this.#over.abort();
  }

  #inTurn(turn: () => Promise<void>): Promise<AgentIdentity> {
    const done = this.#changing.then(async () => {
      if (!this.#over.signal.aborted) await turn();
      return this.#current;
    });
    this.#changing = done.catch(() => undefined);
    return done;
  }

  #take(stored: AgentIdentity | null): void {
    // Nothing there: it was taken away, and the next change puts it back.
    if (!stored) return;
    if (stored.clusterId !== this.#current.clusterId) {
      const which = `the cluster ${stored.clusterId}, and this pod is of ${this.#current.clusterId}`;
      throw new FairleadError('CONFLICT', `the stored identity is of ${which}`);
    }
    if (stored.generation > this.#current.generation) {
      const which = `enrolment ${stored.generation}, and this pod has ${this.#current.generation}`;
      throw new FairleadError('CONFLICT', `the stored identity is of ${which}`);
    }
    const isNewer = (stored.changes ?? 0) > (this.#current.changes ?? 0);
    if (stored.generation === this.#current.generation && isNewer) this.#hold(stored);
  }

  #hold(identity: AgentIdentity): void {
    this.#current = identity;
    for (const listener of this.#listeners) listener();
  }
}
