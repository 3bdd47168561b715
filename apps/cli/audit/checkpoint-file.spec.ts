import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { noteSigner, signCheckpoint, verifierKey } from '@fairlead/transparency-log';
import { LogInMemory, entries } from '@fairlead/transparency-log/testing';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkpointsIn, readCheckpointFile } from './checkpoint-file.js';

const ORIGIN = 'fairlead.test/audit/shop';
const [key, otherKey] = [0, 1].map(() => generateKeyPairSync('ed25519').privateKey) as [never, never];
const vkey = (by = key, origin = ORIGIN): string => verifierKey(origin, 'ed25519', by);
const note = async (size: number, by = key, origin = ORIGIN): Promise<string> => {
  const { root } = new LogInMemory().append(entries(0, size));
  return (await signCheckpoint({ origin, size, root }, [noteSigner(origin, by)])).toString('utf8');
};
const line = async (size: number, by = key, origin = ORIGIN): Promise<string> =>
  `${JSON.stringify({ version: 1, origin, verifierKey: vkey(by, origin), checkpoint: await note(size, by, origin) })}\n`;

let scratch: ScratchDir;
beforeEach(async () => {
  scratch = await scratchDir();
});
afterEach(() => scratch[Symbol.asyncDispose]());

async function read(text: string): Promise<[string, number][]> {
  await writeFile(scratch.file('checkpoints'), text);
  const found = checkpointsIn(await readCheckpointFile(scratch.file('checkpoints')), vkey());
  return found.map(({ origin, size }) => [origin, size]);
}

it('lines of a day are read, of a log that began anew too, and one that has no end is not', async () => {
  const later = `${ORIGIN}/2`;
  const text = (await line(3)) + (await line(5)) + (await line(4, key, later)) + (await line(9)).slice(0, 40);
  expect(await read(text)).toEqual([
    [ORIGIN, 3],
    [ORIGIN, 5],
    [later, 4],
  ]);
});

it('so is a checkpoint as it stands', async () => {
  expect(await read(await note(7))).toEqual([[ORIGIN, 7]]);
});

it('what another key signed is no evidence, and nor is what is none', async () => {
  await expect(read(await line(3, otherKey))).rejects.toThrow(/line 1 is of another key/);
  await expect(read(await note(3, otherKey))).rejects.toMatchObject({ code: 'UNTRUSTED_PEER' });
  const forged = (await line(3)).replace('\\n3\\n', '\\n4\\n');
  await expect(read(forged)).rejects.toMatchObject({ code: 'UNTRUSTED_PEER' });
  await expect(read('{"a":1}\n')).rejects.toThrow(/line 1 is no checkpoint/);
  await expect(readCheckpointFile(scratch.file('none'))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});
