import { z } from 'zod';

const Key = z.object({
  number: z.int().min(1).max(1_000_000),
  /** As the cluster reported it; null: it has not made it yet. */
  publicKey: z.string().nullable(),
  /** The Git host has it, or only the cluster can find out. It stays so: a key that vanishes there is put back by `keys`. */
  ready: z.boolean(),
  /** What somebody has to do on the Git host, as long as it does not work; null: `keys` does it. */
  byHand: z.string().nullable(),
});
export type Key = z.infer<typeof Key>;

/** A cluster's deploy keys, as far as numbers go. */
export const DeployKeyState = z.object({
  /** Where they are, or are to be. Null: nothing is followed. */
  repositoryId: z.uuid().nullable(),
  /** The highest number that there was; none is used twice. */
  highest: z.int().min(1).max(1_000_000),
  current: Key,
  next: Key.nullable(),
  /** Of numbers for keys that the cluster changed by itself. */
  allowance: z.object({ left: z.number(), atMs: z.number() }).exactOptional(),
  /** To leave their repositories once the cluster was brought to this revision; null: none was made yet. */
  drops: z.array(
    z.object({ repositoryId: z.uuid(), number: z.int().min(1), afterRevision: z.int().min(0).nullable() }),
  ),
});
export type DeployKeyState = z.infer<typeof DeployKeyState>;

export interface ReportedKey {
  readonly number: number;
  readonly publicKey: string;
  readonly works: boolean | null;
}

export function newDeployKeys(): DeployKeyState {
  return {
    repositoryId: null,
    highest: 1,
    current: { number: 1, publicKey: null, ready: false, byHand: null },
    next: null,
    drops: [],
  };
}
