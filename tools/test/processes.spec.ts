import { expect, it } from 'vitest';
import { cpuSecondsOf, parseStat, treeOf } from './processes.js';

const line = (name: string, state = 'S') =>
  `42 (${name}) ${state} 7 42 42 0 -1 4194560 100 200 0 0 150 50 250 50 20 0 1 0 126924 3133440 354`;

it('reads CPU time, of children that ended too, whatever the name of the program is', () => {
  for (const name of ['node', 'a b', 'a) S 1 (b', ')('])
    expect(parseStat(line(name))).toEqual({ pid: 42, parent: 7, cpuS: 5, isStopped: false });
  expect(parseStat(line('node', 'T'))).toMatchObject({ isStopped: true });
});

it('finds who descends from a process', () => {
  const stat = (pid: number, parent: number) => ({ pid, parent, cpuS: 1, isStopped: false });
  const all = [stat(1, 0), stat(2, 1), stat(3, 2), stat(4, 1), stat(5, 3), stat(6, 9)];
  expect(treeOf(2, all).map(({ pid }) => pid)).toEqual([2, 3, 5]);
  expect(treeOf(99, all)).toEqual([]);
});

it.runIf(process.platform === 'linux')('counts what this process computed', () => {
  const before = cpuSecondsOf(process.pid);
  expect(before).toBeGreaterThan(0);
  expect(cpuSecondsOf(process.pid)).toBeGreaterThanOrEqual(before);
});
