// @tier full: minutes of rolling replicas under informers and an election; deaths and streams show what is told to one client
import { afterAll, beforeAll, expect, it } from 'vitest';
import { electWhileRolling } from './rolls/election.js';
import { watchWhileRolling } from './rolls/informers.js';
import { SCALED } from './rolls/sizes.js';
import { startRollsWorld, type RollsWorld } from './rolls/world.js';

let world: RollsWorld;
beforeAll(async () => {
  world = await startRollsWorld();
  console.log(`client-go v0${world.program.version.slice(1)}`);
});
afterAll(() => world?.[Symbol.asyncDispose]());

it('informers miss nothing while the replicas are rolled in turn, and do not list again and again', async () => {
  const { rolls, verdicts } = await watchWhileRolling(world, SCALED);
  console.log(`${rolls} rolls: ${JSON.stringify(verdicts)}`);
  expect(rolls).toBeGreaterThan(2);
  expect(verdicts.map(({ context }) => context)).toEqual(world.contexts);
  for (const verdict of verdicts) {
    expect(verdict).toMatchObject({ missed: 0, twice: 0, sameAtEnd: true });
    expect(verdict.told + verdict.skipped).toBe(verdict.events);
    // The first one, and at most one more for each end of a connection.
    expect(verdict.lists).toBeLessThanOrEqual(1 + rolls);
  }
});

it('an election has one leader at any time, whatever is rolled or killed', async () => {
  const { rolls, kills, reigns, twoAtOnce, longestGapMs } = await electWhileRolling(world, SCALED);
  console.log(`${rolls} rolls, ${kills} kills: ${reigns.length} reigns, at most ${longestGapMs} ms without a leader`);
  expect(twoAtOnce).toEqual([]);
  // A leader that is killed, or whose replica is away for longer than it may be silent, is followed by another.
  expect(reigns.length).toBeGreaterThan(kills);
  expect(new Set(reigns.map(({ identity }) => identity)).size).toBe(2);
});
