import { silentLogger } from '@fairlead/observability';
import { expect, it } from 'vitest';
import { OneByOne } from './one-by-one.js';
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
