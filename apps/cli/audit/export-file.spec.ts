import { writeFile } from 'node:fs/promises';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ExportFile } from './export-file.js';

let dir: ScratchDir;

beforeAll(async () => {
  dir = await scratchDir();
});
afterAll(() => dir?.[Symbol.asyncDispose]());

const bodyOf = (number: number): string => `{"kind":"exec","of":${number}}`;
const line = (number: number, body: unknown = JSON.parse(bodyOf(number))): string => JSON.stringify({ number, body });
const trailer = (count: number, through = 9): string => JSON.stringify({ complete: true, count, through });

async function exported(...lines: string[]): Promise<ExportFile> {
  const path = dir.file(`${crypto.randomUUID()}.ndjson`);
  await writeFile(path, `${lines.join('\n')}\n`);
  return new ExportFile(path);
}

/** Held to a log of so many entries, of which the bodies of the first ones are gone. */
async function held(
  file: ExportFile,
  size: number,
  gone = 0,
): Promise<number | Awaited<ReturnType<ExportFile['verdict']>>> {
  for (let number = gone + 1; number <= size; number += 1) {
    if (!(await file.isAsIn(number, bodyOf(number)))) return number;
  }
  return file.verdict(size);
}

it('without a filter has every number, and each body is the one that was logged', async () => {
  const file = await exported(line(1), line(2, bodyOf(2)), line(3), trailer(3));
  expect(await held(file, 3)).toEqual({
    proven: 3,
    unproven: 0,
    newer: 0,
    first: 1,
    last: 3,
    missing: 0,
    missingNumbers: [],
    through: 9,
    wrong: null,
  });
});

it('with another body names the entry', async () => {
  const file = await exported(line(1), line(2, { kind: 'exec', of: 7 }), line(3), trailer(3));
  expect(await held(file, 3)).toBe(2);
  expect(await held(await exported(line(1), line(2, `${bodyOf(2)} `)), 3)).toBe(2);
});

it('says which numbers are not in it, of which it proves nothing, and which are newer than the checkpoint', async () => {
  const file = await exported(line(2), line(4), line(8), line(11, null), line(14));
  expect(await held(file, 12, 2)).toMatchObject({
    proven: 2,
    unproven: 2,
    newer: 1,
    first: 2,
    last: 14,
    missing: 8,
    missingNumbers: [
      { from: 3, to: 3 },
      { from: 5, to: 7 },
      { from: 9, to: 10 },
      { from: 12, to: 13 },
    ],
    through: null,
    wrong: 'its last line, which says that it is whole, is not there',
  });
});

it.each([
  ['without its end', [line(1), line(2)], /last line.*is not there/],
  ['with a line less', [line(1), trailer(2)], /says that it has 2 entries, and it has 1/],
  ['with more than its end says', [line(1), line(2), trailer(2, 1)], /ends with 1, and it goes on/],
])('%s is not what it says', async (_what, lines, wrong) => {
  expect(await held(await exported(...lines), 2)).toMatchObject({ wrong: expect.stringMatching(wrong) as string });
});

it('as `audit save` writes it has no last line', async () => {
  expect(await held(await exported(line(1, bodyOf(1)), line(2, bodyOf(2))), 2)).toMatchObject({
    through: null,
    wrong: null,
  });
});

it.each([
  ['numbers that go down', [line(2), line(1)]],
  ['a number twice', [line(1), line(1)]],
  ['what is no line of it', [line(1), 'number,at']],
  ['something behind its end', [line(1), trailer(1), line(2)]],
])('with %s is none', async (_what, lines) => {
  await expect(async () => held(await exported(...lines), 2)).rejects.toThrow('is no export');
});

it('that is not there is none', async () => {
  await expect(async () => held(new ExportFile(dir.file('none')), 1)).rejects.toThrow('is no export');
});
