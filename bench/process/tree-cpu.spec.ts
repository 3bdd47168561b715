import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { treeCpuSeconds } from './tree-cpu.js';

/** A child that waits for a grandchild which computes, and then stays. */
const GRANDCHILD = 'while (process.cpuUsage().user < 300_000);';
const CHILD = `
  require('node:child_process').spawnSync(process.execPath, ['-e', ${JSON.stringify(GRANDCHILD)}]);
  console.log('done');
  process.stdin.resume();`;

it.runIf(process.platform === 'linux')('counts children, and those that are gone', async () => {
  const child = spawn(process.execPath, ['-e', CHILD], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    await once(child.stdout, 'data');
    expect(await treeCpuSeconds(child.pid ?? 0)).toBeGreaterThanOrEqual(0.3);
    expect(await treeCpuSeconds(process.pid)).toBeGreaterThanOrEqual(0.3);
  } finally {
    child.kill('SIGKILL');
  }
});
