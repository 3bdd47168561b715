import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Scenario } from '../chaos/scenario.js';
import { KeptResults } from './kept-results.js';
import { formatReport, type Result } from './report.js';
import { runSoak } from './run-soak.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-soak-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const WORLD = { whole: () => Promise.resolve(), [Symbol.asyncDispose]: () => Promise.resolve() };
const SIZES = { judgesTimes: true };
type Tried = Scenario<typeof WORLD, typeof SIZES>;

const scenario = (letter: string, run: Tried['run'] = () => Promise.resolve()): Tried => ({
  letter,
  title: `the story ${letter}`,
  run,
});
const result = (letter: string, faults: readonly string[] = []): Result => ({
  letter,
  title: letter,
  seconds: 1,
  load: 0,
  figures: [],
  faults,
});

async function soak(
  scenarios: readonly Tried[],
  changes: Partial<Parameters<typeof runSoak<typeof WORLD, typeof SIZES>>[1]> = {},
) {
  const results: Result[] = [];
  await runSoak(WORLD, {
    scenarios,
    sizes: SIZES,
    lanes: 1,
    signal: new AbortController().signal,
    say: () => undefined,
    mayBegin: () => true,
    onResult: (each) => results.push(each),
    ...changes,
  });
  return results;
}

it('tells of each scenario as soon as it has ended, and of what threw as a fault', async () => {
  const broken = scenario('b', () => Promise.reject(new Error('it broke')));
  const results = await soak([scenario('a'), broken, scenario('c')]);
  expect(results.map(({ letter, faults }) => [letter, faults])).toEqual([
    ['a', []],
    ['b', ['it broke']],
    ['c', []],
  ]);
});

it('begins none for which there is no time, and tells nothing of one that was broken off', async () => {
  let begun = 0;
  const counted = scenario('a', () => Promise.resolve(void (begun += 1)));
  expect(await soak([counted, counted, counted], { mayBegin: () => begun < 2 })).toHaveLength(2);
  const ending = new AbortController();
  const endless = scenario('b', () => {
    ending.abort(new Error('the time is up'));
    return new Promise<void>(() => undefined);
  });
  expect(await soak([scenario('a'), endless, scenario('c')], { signal: ending.signal })).toMatchObject([
    { letter: 'a' },
  ]);
});

it('has as many under way at once as the world has lanes', async () => {
  let [now, most] = [0, 0];
  const crowded = scenario('a', async () => {
    now += 1;
    most = Math.max(most, now);
    await new Promise((resolve) => void setImmediate(resolve));
    now -= 1;
  });
  await soak(
    Array.from({ length: 7 }, () => crowded),
    { lanes: 3 },
  );
  expect(most).toBe(3);
});

it('keeps results of one area, one scale and one state of the sources, the newest of each scenario', () => {
  const kept = new KeptResults('flood', 1, { sources: 'aaaa', folder });
  kept.add(result('a', ['slow']));
  kept.add(result('b'));
  kept.add(result('a'));
  const later = new KeptResults('flood', 1, { sources: 'aaaa', folder });
  expect([...later.byLetter().values()]).toEqual([result('a'), result('b')]);
  for (const other of [
    new KeptResults('flood', 0.5, { sources: 'aaaa', folder }),
    new KeptResults('tunnel', 1, { sources: 'aaaa', folder }),
    new KeptResults('flood', 1, { sources: 'bbbb', folder }),
  ])
    expect(other.byLetter().size).toBe(0);
});

it('says in its report what is left to run', () => {
  const facts = {
    date: '2026-01-02',
    commit: 'abc',
    scale: 1,
    area: { name: 'flood', title: 'floods', readme: 'e2e/flood/README.md' },
    cores: 2,
    memoryGb: 8,
    platform: 'linux x64',
    node: 'v24',
  };
  const report = formatReport({ ...facts, left: ['c'] }, [result('a'), result('b', ['it grew'])]);
  expect(report).toContain('Not everything held: see below, to be continued: 1 of 3 are left.');
  expect(report).toContain('These are left to run: c.');
  expect(formatReport({ ...facts, left: [] }, [result('a')])).toContain('Everything held.');
});
