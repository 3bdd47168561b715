import { expect, it } from 'vitest';
import { PhaseNews } from './phase-news.js';

it('a cluster that changes by turns is told of five times, then once a minute, and at last as it is', () => {
  const news = new PhaseNews();
  const phases = ['healthy', 'degraded'] as const;
  let told = 0;
  for (let turn = 0; turn < 90; turn += 1) {
    if (news.isToBeTold('a', phases[(turn + 1) % 2]!, phases[turn % 2]!, turn * 2_000)) told += 1;
  }
  expect(told).toBe(7);
  expect(news.isToBeTold('b', null, 'healthy', 180_000)).toBe(true);
  expect(news.isToBeTold('b', 'healthy', 'healthy', 180_000)).toBe(false);
  expect(news.isToBeTold('b', 'healthy', 'repairing', 180_000)).toBe(false);
  expect(news.isToBeTold('a', 'degraded', 'degraded', 300_000)).toBe(true);
  expect(news.isToBeTold('a', 'degraded', 'degraded', 302_000)).toBe(false);
});
