// @tier full: minutes of rolling replicas under informers and an election; deaths and streams show what is told to one client
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Findings } from '../chaos/findings.js';
import { ROLL_SCENARIOS } from './rolls/scenarios.js';
import { SCALED } from './rolls/sizes.js';
import { startRollsWorld, type RollsWorld } from './rolls/world.js';

let world: RollsWorld;

beforeAll(async () => {
  world = await startRollsWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

it.each(ROLL_SCENARIOS)('$title', async ({ run }) => {
  const findings = new Findings(SCALED);
  await world.whole();
  await run(world, SCALED, findings);
  for (const { what, value } of findings.figures) console.log(`${what}: ${value}`);
  expect(findings.faults.join('\n')).toBe('');
});
