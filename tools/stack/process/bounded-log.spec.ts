import { existsSync, readFileSync, statSync } from 'node:fs';
import { scratchDir } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { BoundedLog } from './bounded-log.js';

it('hands out whole lines, and keeps the last ones', async () => {
  await using scratch = await scratchDir();
  const lines: string[] = [];
  const log = new BoundedLog(scratch.file('x.log'), (line) => lines.push(line));
  log.write(Buffer.from('one\ntw'));
  log.write(Buffer.from('o\n\nthree'));
  expect(lines).toEqual(['one', 'two']);
  expect(log.tail()).toEqual(['one', 'two', 'three']);
  expect(readFileSync(scratch.file('x.log'), 'utf8')).toBe('one\ntwo\n\nthree');
  log.write(Buffer.from(`\n${Array.from({ length: 50 }, (_, index) => `line ${index}\n`).join('')}`));
  expect(log.tail()).toHaveLength(20);
  expect(log.tail().at(-1)).toBe('line 49');
  log.close();
});

it('bounds the file and a line without end', async () => {
  await using scratch = await scratchDir();
  const log = new BoundedLog(scratch.file('x.log'), () => undefined);
  const chunk = Buffer.alloc(2 ** 20, 'x');
  for (let index = 0; index < 20; index += 1) log.write(chunk);
  expect(statSync(scratch.file('x.log')).size).toBeLessThanOrEqual(8 * 2 ** 20);
  expect(existsSync(scratch.file('x.log.1'))).toBe(true);
  expect(log.tail().join('').length).toBeLessThanOrEqual(16_384);
  log.close();
});
