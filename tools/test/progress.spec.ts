import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Progress, recordTurns, type Turn } from './progress.js';
import { fullReport } from './report.js';
import { Session } from './session.js';

let folder: string;
let session: Session;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-progress-'));
  session = Session.create();
});
afterEach(() => {
  session.remove();
  rmSync(folder, { recursive: true });
});

const turn = (path: string, green: boolean): Turn => ({
  path,
  green,
  passed: green ? 3 : 2,
  wallS: 10,
  cpuS: 5,
  needs: [],
  failures: green ? [] : [`${path} > a story\n    expected 1 to be 2`],
});

it('knows what is behind a run that was broken off, on the same sources only', () => {
  const first = new Progress('full', 'aaaa', folder);
  first.add(turn('a', true));
  first.add(turn('b', false));
  const later = new Progress('full', 'aaaa', folder);
  expect([...later.green()]).toEqual(['a']);
  expect(later.times()).toEqual(
    new Map([
      ['a', 1],
      ['b', 1],
    ]),
  );
  expect(new Progress('full', 'bbbb', folder).turns()).toEqual([]);
});

it('keeps how each file went; one that died without a word was not green', async () => {
  const progress = new Progress('full', 'aaaa', folder);
  await recordTurns(session, progress, ['good', 'bad', 'skips', 'dead'], async () => {
    const result = { project: 'integration', passed: 3, skipped: 0, failures: [] };
    session.addResult({ ...result, path: 'good' });
    session.addResult({ ...result, path: 'bad', failures: ['bad > a story'] });
    session.addResult({ ...result, path: 'skips', skipped: 1 });
    for (const path of ['good', 'bad', 'skips']) session.addMeasure({ path, wallS: 2, cpuS: 1, needs: ['etcd'] });
  });
  expect(progress.turns().map(({ path, green }) => [path, green])).toEqual([
    ['good', true],
    ['bad', false],
    ['skips', false],
    ['dead', false],
  ]);
});

it('reports what was green, what was not each time, and what did not run yet', () => {
  const at = { commit: 'abc1234', cores: 2, now: new Date('2026-11-23T10:00:00Z') };
  const report = fullReport(
    ['a', 'b', 'c', 'd'],
    [turn('a', true), turn('b', false), turn('b', true), turn('c', false)],
    at,
  );
  expect(report).toContain('# The full tier, 2026-11-23');
  expect(report).toContain('on abc1234, 2 cores: 2 of 4 files green, 8 tests passed');
  expect(report).toContain('## Not run yet\n\n- d\n');
  expect(report).toContain('## Not green\n\n- b: b > a story\n- c: c > a story\n');
  expect(report).toContain('|   10.0 |    5.0 | a |');
});
