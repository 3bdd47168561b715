import { expect, it } from 'vitest';
import { cpuSeconds, ticksOf } from './cpu-time.js';

it('adds user and system ticks, whatever the process calls itself', () => {
  const after = 'S 1 2 3 0 -1 4194304 100 0 0 0 250 50 7 9 20 0 11 0 12345';
  expect(ticksOf(`4711 (node) ${after}`)).toBe(300);
  expect(ticksOf(`4711 (a) b) (c) ${after}`)).toBe(300);
});

it.runIf(process.platform === 'linux')('knows what this process used', async () => {
  const { user, system } = process.cpuUsage();
  const used = (await cpuSeconds([process.pid])) ?? 0;
  expect(used).toBeCloseTo((user + system) / 1_000_000, 0);
  await expect(cpuSeconds([2 ** 30])).rejects.toThrow('ENOENT');
});
