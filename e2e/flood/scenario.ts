import type { Scenario } from '../chaos/scenario.js';
import type { FloodSizes } from './sizes.js';
import type { FloodWorld } from './world.js';

export type FloodScenario = Scenario<FloodWorld, FloodSizes>;
