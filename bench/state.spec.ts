import { writeFile } from 'node:fs/promises';
import { scratchDir } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { State } from './state.js';

it('goes on with what an equal run left', async () => {
  await using scratch = await scratchDir();
  const file = scratch.file('bin', 'run.json');
  const before = await State.open(file, 'key', Date.now());
  before.results.add('ping_p50', 'fairlead', 5);
  before.results.fail('ping_p50', 'direct', { count: 1, of: 2, reason: 'timeout' });
  await before.done('0/ping_p50/fairlead');
  const after = await State.open(file, 'key', Date.now());
  expect(after.steps).toBe(1);
  expect(after.isDone('0/ping_p50/fairlead')).toBe(true);
  expect(after.isDone('1/ping_p50/fairlead')).toBe(false);
  expect(after.results.cells).toEqual(before.results.cells);
  await after.forget();
  expect((await State.open(file, 'key', Date.now())).steps).toBe(0);
});

it('begins anew for another key, after two hours, and where the file is something else', async () => {
  await using scratch = await scratchDir();
  const file = scratch.file('run.json');
  const before = await State.open(file, 'key', Date.now());
  await before.done('a step');
  expect((await State.open(file, 'another key', Date.now())).steps).toBe(0);
  expect((await State.open(file, 'key', Date.now() + 3 * 3_600_000)).steps).toBe(0);
  await writeFile(file, '{"key":"key"}');
  expect((await State.open(file, 'key', Date.now())).steps).toBe(0);
});
