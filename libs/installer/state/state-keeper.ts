import { isDeepStrictEqual } from 'node:util';
import { DesiredState, Tool } from '@fairlead/desired-state';
import { z } from 'zod';
import { Problem } from '../problem.js';
import { OWN } from '../names.js';
import type { OwnObjects, OwnSecret } from './own-objects.js';
import { LadderState, STILL } from '../ladder/ladder-state.js';

const Ref = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  namespace: z.string().optional(),
  name: z.string(),
  /** Of the one that we made; none: it was there before us, or it is not known. */
  createdUid: z.string().optional(),
});

/** All that an installer remembers; it is enough to go on without a control plane. */
export const HeldState = z.object({
  version: z.literal(1),
  /** Of the trust bundle that its roots are of; 0: they count because their keys are pinned. */
  trustVersion: z.int().min(0),
  rootsPem: z.array(z.string()).max(4),
  /** The newest that was verified. */
  desired: DesiredState.nullable(),
  /** The revision that the cluster was last brought to as a whole; 0: none. */
  appliedRevision: z.int().min(0),
  /** What was last applied as a whole, as the ladder names it. */
  appliedKey: z.string(),
  /** Whose objects are in the inventory. */
  tool: Tool.nullable(),
  /** SHA-256 of the bundle that runs. */
  bundleDigest: z.string().nullable(),
  /** The last one that became healthy: its bytes are kept beside this. */
  good: z.object({ digest: z.string(), bytes: z.int() }).nullable(),
  /** A bundle that did not become healthy: it is not tried again before another one is desired. */
  givenUp: z.string().nullable(),
  /** What we made, or are about to make. */
  inventory: z.array(Ref).max(4_000),
  ladder: LadderState,
});
export type HeldState = z.infer<typeof HeldState>;

export const NOTHING_HELD: HeldState = {
  version: 1,
  trustVersion: 0,
  rootsPem: [],
  desired: null,
  appliedRevision: 0,
  appliedKey: '',
  tool: null,
  bundleDigest: null,
  good: null,
  givenUp: null,
  inventory: [],
  ladder: STILL,
};

/**
 * Holds what the installer remembers, and keeps it in its Secret before it counts. Only what it read or wrote itself last is written over:
 * what another installer kept meanwhile stays.
 */
export class StateKeeper {
  #held: HeldState;
  #version: OwnSecret['version'];

  private constructor(
    private readonly own: OwnObjects,
    held: HeldState,
    version: OwnSecret['version'],
  ) {
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
    this.#version = await this.own.writeSecret(OWN.state, { state: JSON.stringify(next) }, this.#version);
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
