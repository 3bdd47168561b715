// @tier full: minutes of chaos with three replicas; the stories e2e/main-job/stories/failures-* show each failure once
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Findings } from './findings.js';
import { SCENARIOS } from './scenarios/index.js';
import { SCALED } from './sizes.js';
import { startWorld, type World } from './world.js';

/** Several times what the longest takes, and more than any deadline inside it, which says what is missing. */
const SCENARIO_TIMEOUT_MS = 600_000;

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

describe('three replicas and two agents survive', () => {
  it.each(SCENARIOS)('$title', { timeout: SCENARIO_TIMEOUT_MS }, async ({ run }) => {
    const findings = new Findings(SCALED);
    await world.whole();
    await run(world, SCALED, findings);
    expect(findings.faults.join('\n')).toBe('');
    expect(findings.figures).not.toEqual([]);
  });
});
