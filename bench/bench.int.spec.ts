import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { scratchDir } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { SYSTEMS } from './rows.js';

const MAIN = join(import.meta.dirname, 'dist', 'main.js');
const run = promisify(execFile);

const Rows = z.array(
  z.strictObject({
    row: z.literal('ping_p50'),
    system: z.enum(SYSTEMS),
    unit: z.literal('µs'),
    runs: z.array(z.number()),
    median: z.number(),
  }),
);

it('measures a ping through all five systems, prints their ratios and writes JSON', { timeout: 180_000 }, async () => {
  await using scratch = await scratchDir();
  const file = scratch.file('bench.json');
  const args = ['--quick', '--row', 'ping_p50', '--json', file];
  const { stdout } = await run(process.execPath, [MAIN, ...args], { timeout: 170_000 });
  const rows = Rows.parse(JSON.parse(await readFile(file, 'utf8')));
  expect(rows.map(({ system }) => system)).toEqual(SYSTEMS);
  for (const { runs, median } of rows) {
    expect(runs.length).toBeGreaterThan(0);
    // Not a timing assertion: above zero, and below the time after which a job fails.
    for (const value of [...runs, median]) expect(value > 1 && value < 10_000_000).toBe(true);
  }
  expect(stdout).toMatch(/^ping_p50 .+×/m);
  expect(stdout).not.toContain('failed');
});

it('says in one line what it does not understand', async () => {
  const failure: unknown = await run(process.execPath, [MAIN, '--row', 'upload_1']).catch((error: unknown) => error);
  expect(failure).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^there is no row upload_1; .+\n$/) as string,
  });
});
