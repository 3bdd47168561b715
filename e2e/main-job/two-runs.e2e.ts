// @tier full: two whole installations at once, one of them for machines elsewhere; `npm-start` shows one, and who is refused beside it
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '@fairlead/testing';
import { expect, it } from 'vitest';
import {
  endRunsAfterTests,
  folder,
  interrupt,
  leftovers,
  paste,
  printedCommands,
  ready,
  start,
} from '../support/npm-start.js';

/** Below the ports that the testbed picks from, and those of `npm-start`, which may run at the same time. */
const [BASE, OTHER_BASE] = [12_000, 14_000];

endRunsAfterTests();

it('two runs go on side by side, and one that listens for machines elsewhere is reached by the name it was given', async () => {
  const other = start(await folder(), OTHER_BASE, '--advertise', '127.0.0.2');
  const run = start(await folder(), BASE);
  await Promise.all([ready(run), ready(other)]);
  expect(await paste(printedCommands(run)[1] ?? '')).toContain('created');
  expect(await paste(printedCommands(run)[2] ?? '')).toContain('from: fairlead');
  expect(await readFile(join(other.stateDir, 'kubeconfig'), 'utf8')).toContain('https://127.0.0.2:');
  expect(await paste(printedCommands(other)[0] ?? '')).toContain('kube-system');
  // Nobody elsewhere is led to a shell on this machine.
  expect(printedCommands(other)).toHaveLength(3);
  // The other run's demo is another cluster: what was created here is not there.
  await expect(paste(printedCommands(other)[2] ?? '')).rejects.toThrow(/not found/i);
  expect(await Promise.all([interrupt(run), interrupt(other)])).toEqual([0, 0]);
  await eventually(async () =>
    expect([...(await leftovers(run.stateDir)), ...(await leftovers(other.stateDir))]).toEqual([]),
  );
});
