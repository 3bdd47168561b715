import type { Findings } from './findings.js';
import type { Sizes } from './sizes.js';
import type { World } from './world.js';

/** Disturbs a world that is whole and says what it found. Whoever runs it makes the world whole again. */
export type Run = (world: World, sizes: Sizes, findings: Findings) => Promise<void>;

export interface Scenario {
  /** For `--only`. */
  readonly letter: string;
  readonly title: string;
  readonly run: Run;
}
