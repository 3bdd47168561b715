import { afterAll, beforeAll, expect, it } from 'vitest';
import { Findings } from '../chaos/findings.js';
import { FLOOD_SCENARIOS } from './scenarios.js';
import { SCALED } from './sizes.js';
import { startFloodWorld, type FloodWorld } from './world.js';

/** Those that cost a gateway most before it bounded them, and one of each that the other ports are safe from by their handshake. */
const CHOSEN: ReadonlySet<string> = new Set([
  'link/headers',
  'link/headers-after-goaway',
  'link/discover',
  'link/unknown',
  'relay/headers',
  'kube-api/data',
  'kube-api/window-update',
  'connect/headers',
]);

let world: FloodWorld;

beforeAll(async () => {
  world = await startFloodWorld();
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

it.each(FLOOD_SCENARIOS.filter(({ letter }) => CHOSEN.has(letter)).map((each) => [each.title, each] as const))(
  'a flood of %s from a hundred unauthenticated peers costs memory within bounds, and them their connections',
  async (_, scenario) => {
    const findings = new Findings(SCALED);
    await world.whole();
    await scenario.run(world, SCALED, findings);
    expect(findings.faults.join('\n')).toBe('');
  },
);

it('every one that is chosen is there', () => {
  const letters = new Set(FLOOD_SCENARIOS.map(({ letter }) => letter));
  expect([...CHOSEN].filter((letter) => !letters.has(letter))).toEqual([]);
});
