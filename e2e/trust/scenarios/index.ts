import type { AnyWorld } from '../../chaos/any-world.js';
import type { Scenario } from '../../chaos/scenario.js';
import type { TrustSizes } from '../sizes.js';
import { queueFlood } from './queue-flood.js';
import { rotation } from './rotation.js';
import { shortLives } from './short-lives.js';

/** In the order in which they run. Each starts an installation of its own. */
export const TRUST_SCENARIOS: readonly Scenario<AnyWorld, TrustSizes>[] = [rotation, shortLives, queueFlood];

/** Nothing is shared between them. */
export const NO_WORLD: AnyWorld = { whole: () => Promise.resolve(), [Symbol.asyncDispose]: () => Promise.resolve() };
