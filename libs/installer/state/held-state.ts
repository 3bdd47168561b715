import { DesiredState, Tool } from '@fairlead/desired-state';
import { z } from 'zod';
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
  /** A bundle that did not become healthy: it is not tried again before another one is wanted. */
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
