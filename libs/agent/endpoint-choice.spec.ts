import { expect, it } from 'vitest';
import { EndpointChoice, nameOf } from './endpoint-choice.js';

const endpoints = ['a', 'b', 'c'].map((host) => ({ host, port: 7443 }));
let nowMs = 1;
const clock = { monotonicMs: (): number => nowMs };

it('takes one that no other link of ours uses or tries', () => {
  const choice = new EndpointChoice(endpoints, clock);
  const taken = [choice.pick()];
  const leave = choice.occupy(taken[0]!);
  for (const _ of [1, 2]) {
    const next = choice.pick();
    choice.occupy(next);
    taken.push(next);
  }
  expect(taken.map(nameOf).sort()).toEqual(['a:7443', 'b:7443', 'c:7443']);
  leave();
  expect(choice.pick()).toBe(taken[0]);
});

it('takes the one whose trouble is longest ago, of those that are used alike', () => {
  const choice = new EndpointChoice(endpoints, clock);
  for (const endpoint of endpoints) {
    nowMs += 1;
    choice.avoid(endpoint);
  }
  expect(choice.pick().host).toBe('a');
  nowMs += 1;
  choice.avoid(endpoints[0]!);
  expect(choice.pick().host).toBe('b');
});
