import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { mergeTimings, neededBy, readTimings, writeTimings } from './timings.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-timings-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const timing = (wallS: number, ...needs: string[]) => ({ wallS, cpuS: 1, needs });

it('takes over what was measured, keeps what was not, and forgets files that are gone', () => {
  const before = { kept: timing(1), measured: timing(2), gone: timing(3) };
  const after = mergeTimings(before, { measured: timing(9), added: timing(4) }, ['added', 'kept', 'measured', 'never']);
  expect(after).toEqual({ added: timing(4), kept: timing(1), measured: timing(9) });
});

it('reads what it wrote, in whole seconds', () => {
  const path = join(folder, 'timings.json');
  writeTimings({ a: { wallS: 1.4, cpuS: 0.6, needs: ['nats-server', 'etcd'] }, b: timing(2) }, path);
  expect(readTimings(path)).toEqual({ a: { wallS: 1, cpuS: 1, needs: ['etcd', 'nats-server'] }, b: timing(2) });
});

it('names each component once, first what most test time waits for', () => {
  const timings = {
    a: timing(1, 'nats-server', 'etcd'),
    b: timing(1, 'etcd', 'nats-server'),
    c: timing(2, 'nats-server'),
    d: timing(9, 'gitea'),
    e: timing(90, 'argocd'),
  };
  expect(neededBy(['a', 'b', 'c', 'd', 'unknown'], timings)).toEqual(['gitea', 'nats-server', 'etcd']);
});
