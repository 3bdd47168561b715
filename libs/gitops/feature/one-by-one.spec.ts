import { silentLogger } from '@fairlead/observability';
import { expect, it } from 'vitest';
import { OneByOne, eachApart } from './one-by-one.js';
import type { Runtime } from './runtime.js';

it('has what fails tried again later, and the others at once', async () => {
  let nowMs = 0;
  const failed: string[] = [];
  const runtime = { logger: silentLogger, now: () => new Date(nowMs), onFailed: (part: string) => failed.push(part) };
  const each = new OneByOne(runtime as unknown as Runtime, 'rollout');
  const worked: string[] = [];
  const turn = (broken: string): Promise<boolean> =>
    each.each(
      ['a', 'b', 'c'],
      (item) => item,
      (item) => {
        worked.push(item);
        return item === broken ? Promise.reject(new Error('a surprise')) : Promise.resolve(item === 'c');
      },
    );
  expect(await turn('b')).toBe(true);
  expect([worked.join(''), failed]).toEqual(['abc', ['rollout']]);
  await turn('b');
  expect(worked.join('')).toBe('abcac');
  nowMs += 2_000;
  await turn('');
  await turn('');
  expect(worked.join('')).toBe('abcacabcabc');
  expect(failed).toEqual(['rollout']);
});

it('one that fails keeps none of the others', async () => {
  const done: number[] = [];
  const failures: [number, unknown][] = [];
  const refused = new Error('refused');
  const work = async (item: number): Promise<void> => {
    if (item === 2) throw refused;
    done.push(item);
  };
  await eachApart([1, 2, 3], work, async (item, error) => void failures.push([item, error]));
  expect(done).toEqual([1, 3]);
  expect(failures).toEqual([[2, refused]]);
});
