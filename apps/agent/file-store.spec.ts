import { chmod, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { fileStore } from './file-store.js';

let scratch: ScratchDir;
let path: string;

beforeEach(async () => {
  scratch = await scratchDir();
  path = join(scratch.path, 'state', 'identity.json');
  await mkdir(join(scratch.path, 'state'));
});
afterEach(() => scratch[Symbol.asyncDispose]());

const modeOf = async (file: string): Promise<number> => (await stat(file)).mode & 0o777;

it('keeps what it is given, for its owner only', async () => {
  const store = fileStore(path);
  expect(await store.read()).toEqual({ values: {} });
  await store.write({ identity: 'one' });
  await store.write({ pending: 'two' });
  expect(await store.read()).toEqual({ values: { identity: 'one', pending: 'two' } });
  expect(await modeOf(path)).toBe(0o600);
});

it('keeps all that is written at once', async () => {
  const store = fileStore(path);
  const values = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`key-${index}`, String(index)]));
  await Promise.all(Object.entries(values).map(([key, value]) => store.write({ [key]: value })));
  expect(await store.read()).toEqual({ values });
});

it('writes through no link that lies where its new file will be', async () => {
  const elsewhere = join(scratch.path, 'elsewhere');
  await writeFile(elsewhere, 'untouched', { mode: 0o644 });
  await symlink(elsewhere, `${path}.new`);
  await fileStore(path).write({ identity: 'one' });
  expect(await readFile(elsewhere, 'utf8')).toBe('untouched');
  expect([await modeOf(elsewhere), await modeOf(path)]).toEqual([0o644, 0o600]);
});

it('takes over nothing that a crash, or somebody else, left where its new file will be', async () => {
  await writeFile(`${path}.new`, 'left', { mode: 0o666 });
  await chmod(`${path}.new`, 0o666);
  await fileStore(path).write({ identity: 'one' });
  expect(await modeOf(path)).toBe(0o600);
});

it.each([0o640, 0o604, 0o620])('refuses a file that others have rights to (%i)', async (mode) => {
  const store = fileStore(path);
  await store.write({ identity: 'one' });
  await chmod(path, mode);
  await expect(store.read()).rejects.toMatchObject({
    code: 'FORBIDDEN',
    message: expect.stringContaining('chmod 600'),
  });
  await expect(store.write({ identity: 'two' })).rejects.toMatchObject({ code: 'FORBIDDEN' });
});

it('takes back the rights that the kubelet gave a pod’s group, in a folder of that group', async () => {
  const store = fileStore(path);
  await store.write({ identity: 'one' });
  for (const [folder, mode] of [
    [0o2770, 0o660],
    [0o2775, 0o660],
    [0o2770, 0o640],
  ] as const) {
    await chmod(dirname(path), folder);
    await chmod(path, mode);
    expect(await store.read()).toEqual({ values: { identity: 'one' } });
    expect(await modeOf(path)).toBe(0o600);
  }
});

it.each([
  ['world-readable file', 0o2770, 0o664],
  ['executable file', 0o2770, 0o670],
  ['file in a folder that all may write to', 0o2777, 0o660],
  ['file in a folder that does not hand its group on', 0o770, 0o660],
])('refuses a %s: no kubelet made it', async (_, folder, file) => {
  const store = fileStore(path);
  await store.write({ identity: 'one' });
  await chmod(dirname(path), folder);
  await chmod(path, file);
  await expect(store.read()).rejects.toMatchObject({ code: 'FORBIDDEN' });
  expect(await modeOf(path)).toBe(file);
});
