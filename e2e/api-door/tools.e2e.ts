// @tier full: tools that are built or installed for it, each by two ways; `streams` and main-job show the door with kubectl
import { afterAll, beforeAll } from 'vitest';
import { describeFlux } from './tools/flux.js';
import { describeHelm } from './tools/helm.js';
import { describeJavaScript } from './tools/javascript.js';
import { describeKubectl } from './tools/kubectl.js';
import { describePython } from './tools/python.js';
import { startToolsWorld, type ToolsWorld } from './tools/world.js';

let world: ToolsWorld;
beforeAll(async () => {
  world = await startToolsWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

const WAYS = ['relay', 'own'] as const;

describeKubectl(WAYS, () => world);
describeHelm(WAYS, () => world);
describePython(WAYS, () => world);
describeJavaScript(WAYS, () => world);
describeFlux(WAYS, () => world);
