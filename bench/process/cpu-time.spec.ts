import { expect, it } from 'vitest';
import { cpuSeconds, ticksOf } from './cpu-time.js';

it('adds user and system ticks, whatever the process calls itself', () => {
  const after = 'S 1 2 3 0 -1 4194304 100 0 0 0 250 50 7 9 20 0 11 0 12345';
  expect(ticksOf(`4711 (node) ${after}`)).toBe(300);
  expect(ticksOf(`4711 (a) b) (c) ${after}`)).toBe(300);
});

/** User and system, as Node has it. */
function ownSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000;
}

it.runIf(process.platform === 'linux')('knows what this process used', async () => {
  const before = ownSeconds();
  const used = (await cpuSeconds([process.pid])) ?? 0;
  expect(used).toBeGreaterThan(before - 0.5);
  expect(used).toBeLessThan(ownSeconds() + 0.5);
  await expect(cpuSeconds([2 ** 30])).rejects.toThrow('ENOENT');
});
