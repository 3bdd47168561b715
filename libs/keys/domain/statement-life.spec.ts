import { expect, it } from 'vitest';
import { statementLifeMs } from './statement-life.js';

it('is as long as a leaf lives, between ten minutes and a week', () => {
  expect([10, 86_400, 31_536_000].map(statementLifeMs)).toEqual([600_000, 86_400_000, 604_800_000]);
});
