import { expect, it } from 'vitest';
import { residentKb, residentKbOf } from './memory.js';

it('reads what a process holds, and knows one that has ended', () => {
  expect(residentKbOf('Name:\tnode\nVmHWM:\t    4000 kB\nVmRSS:\t    3210 kB\nThreads:\t7\n')).toBe(3_210);
  expect(() => residentKbOf('Name:\tnode\nState:\tZ (zombie)\n')).toThrow('has ended');
});

it.runIf(process.platform === 'linux')('knows what this process holds', async () => {
  const held = await residentKb([process.pid]);
  expect(held / (process.memoryUsage.rss() / 1_024)).toBeCloseTo(1, 0);
  await expect(residentKb([2 ** 30])).rejects.toThrow('ENOENT');
});
