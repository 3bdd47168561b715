import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { becomeTheOneNode, type OneNodeOptions } from './one-node.js';

const said: string[] = [];
const wanted = (name: string, patienceMs: number): OneNodeOptions => ({
  name,
  patienceMs,
  log: (line) => void said.push(line),
});

it.runIf(process.platform === 'linux')('has each wait until the one before is gone, and says so', async () => {
  const name = `test-${randomUUID()}`;
  const first = await becomeTheOneNode(wanted(name, 0));
  await expect(becomeTheOneNode(wanted(name, 0))).rejects.toThrow('another real node still runs on this machine');
  const second = becomeTheOneNode(wanted(name, 20_000));
  first[Symbol.dispose]();
  (await second)[Symbol.dispose]();
  expect(said).toContain('testbed: another real node runs on this machine: waiting until it is gone');
});

it.runIf(process.platform === 'linux')('has nobody wait for a process that was killed', async () => {
  const name = `test-${randomUUID()}`;
  const script = `require('node:net').createServer().listen('\\0${name}', () => console.log('held'))`;
  const other = spawn(process.execPath, ['-e', script]);
  await once(other.stdout, 'data');
  await expect(becomeTheOneNode(wanted(name, 0))).rejects.toThrow('another real node');
  other.kill('SIGKILL');
  await once(other, 'exit');
  // The kernel may let go of it a moment after the process.
  using held = await becomeTheOneNode(wanted(name, 20_000));
  expect(held).toBeDefined();
});
