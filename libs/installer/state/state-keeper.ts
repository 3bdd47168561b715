import { isDeepStrictEqual } from 'node:util';
import { Problem } from '../problem.js';
import { OWN } from '../names.js';
import { HeldState, NOTHING_HELD } from './held-state.js';
import type { OwnObjects, OwnSecret } from './own-objects.js';

/**
 * Holds what the installer remembers, and keeps it in its Secret before it counts. Only what it read or wrote itself last is written over:
 * what another installer kept meanwhile stays.
 */
export class StateKeeper {
  readonly #own: OwnObjects;
  #held: HeldState;
  #version: OwnSecret['version'];

  private constructor(own: OwnObjects, held: HeldState, version: OwnSecret['version']) {
    this.#own = own;
    this.#held = held;
    this.#version = version;
  }

  /** STATE_UNREADABLE if the Secret holds something else: then somebody has to look, because older desired state would count again. */
  static async open(own: OwnObjects): Promise<StateKeeper> {
    const { values, version } = await own.readSecret(OWN.state);
    const { state } = values;
    return new StateKeeper(own, state === undefined ? NOTHING_HELD : parsed(state, own.namespace), version);
  }

  get held(): HeldState {
    return this.#held;
  }

  /** Writes only what changed. CONFLICT if somebody else wrote it meanwhile: then it has to be opened anew. */
  async keep(changes: Partial<HeldState>): Promise<void> {
    const next = { ...this.#held, ...changes };
    if (isDeepStrictEqual(next, this.#held)) return;
    this.#version = await this.#own.writeSecret(OWN.state, { state: JSON.stringify(next) }, this.#version);
    this.#held = next;
  }
}

function parsed(text: string, namespace: string): HeldState {
  try {
    return HeldState.parse(JSON.parse(text));
  } catch (cause) {
    throw new Problem(
      'STATE_UNREADABLE',
      `the Secret ${namespace}/${OWN.state} cannot be read; delete it to begin anew from the pinned roots`,
      { cause },
    );
  }
}
