import type { Findings } from './findings.js';
import type { Sizes } from './sizes.js';
import type { World } from './world.js';

/** Disturbs a world that is whole and says what it found. Whoever runs it makes the world whole again. */
export type Run<W = World, S = Sizes> = (world: W, sizes: S, findings: Findings) => Promise<void>;

export interface Scenario<W = World, S = Sizes> {
  /** For `--only`. */
  readonly letter: string;
  readonly title: string;
  readonly run: Run<W, S>;
}
