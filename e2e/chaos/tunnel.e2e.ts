import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Findings } from './findings.js';
import { SCENARIOS } from './scenarios/index.js';
import { SCALED } from './sizes.js';
import { startWorld, type World } from './world.js';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

describe('three replicas and two agents survive', () => {
  it.each(SCENARIOS)('$title', async ({ run }) => {
    const findings = new Findings();
    await world.whole();
    await run(world, SCALED, findings);
    expect(findings.faults).toEqual([]);
    expect(findings.figures).not.toEqual([]);
  });
});
