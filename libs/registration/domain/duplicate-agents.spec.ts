import { expect, it } from 'vitest';
import { DuplicateAgents, ROLLOUT_MS } from './duplicate-agents.js';

const two = new Map([['shop', 2]]);
const one = new Map<string, number>();

/** Looks every second from `fromS` until `toS`; when something was told, in seconds. */
function told(agents: DuplicateAgents, several: ReadonlyMap<string, number>, fromS: number, toS: number): number[] {
  const at: number[] = [];
  for (let s = fromS; s <= toS; s += 1) if (agents.observe(several, s * 1_000).includes('shop')) at.push(s);
  return at;
}

it('tells once of two that stay, and not of one that takes the place of another', () => {
  const agents = new DuplicateAgents();
  expect(told(agents, two, 0, 13)).toEqual([]);
  expect(told(agents, one, 14, 2_000)).toEqual([]);
  expect(told(agents, two, 3_000, 9_000)).toEqual([3_020]);
});

it('tells once of two that come and go, and again after they were gone for long', () => {
  const agents = new DuplicateAgents();
  const flapping: number[] = [];
  for (let s = 0; s < 3_600; s += 60) {
    flapping.push(...told(agents, two, s, s + 5), ...told(agents, one, s + 6, s + 59));
  }
  expect(flapping).toHaveLength(1);
  expect(told(agents, one, 3_600, 4_300)).toEqual([]);
  expect(told(agents, two, 4_301, 5_000)).toEqual([4_321]);
});

it('tells again when there are more at once than ever, or when it could not be told', () => {
  const agents = new DuplicateAgents();
  expect(told(agents, two, 0, 60)).toEqual([20]);
  expect(told(agents, new Map([['shop', 3]]), 61, 120)).toEqual([61]);
  expect(told(agents, two, 121, 180)).toEqual([]);
  agents.forget('shop');
  expect(told(agents, two, 181, 240)).toEqual([201]);
});

it('waits as long as it is told to, where several may be for a while', () => {
  const agents = new DuplicateAgents(ROLLOUT_MS);
  expect(told(agents, two, 0, 1_100)).toEqual([]);
  expect(told(agents, one, 1_101, 1_800)).toEqual([]);
  expect(told(agents, two, 2_000, 3_300)).toEqual([3_200]);
});
