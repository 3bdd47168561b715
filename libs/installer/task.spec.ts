import { expect, it } from 'vitest';
import { Pace } from './task.js';

it('lets something be done once in a time', () => {
  const pace = new Pace(10);
  expect([0, 5, 9, 10, 15, 20].filter((atMs) => pace.take(atMs))).toEqual([0, 10, 20]);
});
