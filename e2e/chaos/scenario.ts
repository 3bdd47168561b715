import type { Findings } from './findings.js';
import type { Sizes } from './sizes.js';
import type { World } from './world.js';

/** What every world of scenarios has. */
export interface AnyWorld extends AsyncDisposable {
  /** Resolves when nothing is disturbed any more. */
  whole(): Promise<void>;
}

/** Disturbs a world that is whole and says what it found. Whoever runs it makes the world whole again. */
export type Run<W = World, S = Sizes> = (world: W, sizes: S, findings: Findings) => Promise<void>;

export interface Scenario<W = World, S = Sizes> {
  /** For `--only`. */
  readonly letter: string;
  readonly title: string;
  readonly run: Run<W, S>;
}
