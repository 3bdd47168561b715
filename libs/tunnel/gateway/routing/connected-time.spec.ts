import { expect, it } from 'vitest';
import { ConnectedTime } from './route-watcher.js';

it('counts only what passes while connected, so that an outage ages nothing', () => {
  let now = 1_000;
  const clock = { nowMs: () => 0, monotonicMs: () => now, sleep: () => Promise.resolve() };
  const time = new ConnectedTime(clock, false);
  now += 500;
  expect(time.nowMs()).toBe(0);
  time.set(true);
  now += 300;
  expect(time.nowMs()).toBe(300);
  time.set(false);
  now += 86_400_000;
  expect(time.nowMs()).toBe(300);
  time.set(true);
  time.set(true);
  now += 5;
  expect(time.nowMs()).toBe(305);
});
