import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { scratchDir } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';

const MAIN = join(import.meta.dirname, 'dist', 'main.js');
const run = promisify(execFile);

// Not Konnectivity: building it takes a minute, and it is not ours to test.
const SYSTEMS = ['direct', 'relay-node', 'relay-go', 'relay-go-tls', 'fairlead', 'fairlead-relayed'];

const Rows = z.array(
  z.strictObject({
    row: z.enum(['download_1', 'ping_p50']),
    system: z.enum(SYSTEMS),
    unit: z.string(),
    runs: z.array(z.number()).length(1),
    median: z.number().positive(),
  }),
);

it('measures two rows through six systems, prints their ratios and writes JSON', { timeout: 900_000 }, async () => {
  await using scratch = await scratchDir();
  const file = scratch.file('bench.json');
  const systems = SYSTEMS.flatMap((system) => ['--system', system]);
  const args = ['--quick', '--fresh', '--runs', '1', '--row', 'ping_p50', '--row', 'download_1', ...systems];
  const { stdout } = await run(process.execPath, [MAIN, ...args, '--json', file], { timeout: 890_000 });
  const rows = Rows.parse(JSON.parse(await readFile(file, 'utf8')));
  expect(rows.filter(({ row }) => row === 'download_1').map(({ system }) => system)).toEqual(SYSTEMS);
  expect(rows.filter(({ row }) => row === 'ping_p50').map(({ system }) => system)).toEqual(SYSTEMS);
  expect(stdout).toMatch(/^ping_p50 .+×/m);
  expect(stdout).toMatch(/^download_1 +fairlead-relayed +must ≥ 0\.5 × fairlead/m);
  expect(stdout).not.toContain('failed');
});

it('says in one line what it does not understand', async () => {
  const failure: unknown = await run(process.execPath, [MAIN, '--row', 'upload']).catch((error: unknown) => error);
  expect(failure).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^there is no row upload; .+\n$/) as string,
  });
});
