import { chmod, mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFolderStore, giveFolder, type FolderStore } from './folder-store.js';

let scratch: ScratchDir;
let store: FolderStore;

beforeEach(async () => {
  scratch = await scratchDir();
  for (const folder of ['secrets/one', 'config/open']) await mkdir(scratch.file(folder), { recursive: true });
  store = createFolderStore({ dir: scratch.path, ownerOf: () => process.getuid?.() });
});
afterEach(() => scratch[Symbol.asyncDispose]());

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe('a folder of Secrets', () => {
  it('knows a Secret that it made, which its owner alone may read, whatever the umask', async () => {
    const before = process.umask(0);
    try {
      expect(await store.readSecret('one')).toBeNull();
      await store.createSecret('one', { 'nats.seed': 'SU...', 'database.url': 'postgres://' });
    } finally {
      process.umask(before);
    }
    expect(await store.readSecret('one')).toEqual({ 'nats.seed': 'SU...', 'database.url': 'postgres://' });
    expect(await readdir(scratch.file('secrets/one'))).toEqual(['current']);
    const folder = scratch.file('secrets/one/current');
    expect([await modeOf(folder), await modeOf(join(folder, 'nats.seed'))]).toEqual([0o700, 0o600]);
  });

  it('never changes one that is there', async () => {
    await store.createSecret('one', { password: 'first' });
    await expect(store.createSecret('one', { password: 'second' })).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await store.readSecret('one')).toEqual({ password: 'first' });
    expect(await readdir(scratch.file('secrets/one'))).toEqual(['current']);
  });

  it('has nothing of a Secret whose making was cut off', async () => {
    await mkdir(scratch.file('secrets/one/.new-0123456789ab'));
    await writeFile(scratch.file('secrets/one/.new-0123456789ab/password'), 'half');
    expect(await store.readSecret('one')).toBeNull();
    await store.createSecret('one', { password: 'whole' });
    expect(await store.readSecret('one')).toEqual({ password: 'whole' });
  });

  it('makes no folder of its own: a Secret without a volume would be gone with the container', async () => {
    for (const attempt of [
      () => store.readSecret('two'),
      () => store.createSecret('two', { password: 'x' }),
      () => store.putConfigMap('two', { a: 'x' }),
      () => store.putSecretFiles('two', { a: 'x' }),
    ])
      await expect(attempt()).rejects.toThrow(/two.*mount a volume there|writing .*two/);
  });

  it('reads no file larger than a Secret may be', async () => {
    await store.createSecret('one', { password: 'x'.repeat(1_048_577) });
    await expect(store.readSecret('one')).rejects.toMatchObject({ code: 'INTERNAL' });
  });

  it('writes copies anew, for their owner alone', async () => {
    await store.putSecretFiles('one', { 'keys.database.url': 'first' });
    await store.putSecretFiles('one', { 'keys.database.url': 'second' });
    const path = scratch.file('secrets/one/keys.database.url');
    expect([await readFile(path, 'utf8'), await modeOf(path)]).toEqual(['second', 0o600]);
    expect(await readdir(scratch.file('secrets/one'))).toEqual(['keys.database.url']);
  });
});

describe('a folder of ConfigMaps', () => {
  it('replaces files, which everybody may read', async () => {
    await store.putConfigMap('open', { 'pg_hba.conf': 'first' });
    await store.putConfigMap('open', { 'pg_hba.conf': 'second' });
    const path = scratch.file('config/open/pg_hba.conf');
    expect([await readFile(path, 'utf8'), await modeOf(path)]).toEqual(['second', 0o644]);
    expect(await readdir(scratch.file('config/open'))).toEqual(['pg_hba.conf']);
  });
});

it('a folder for data is closed to all others', async () => {
  await mkdir(scratch.file('data'));
  await chmod(scratch.file('data'), 0o777);
  await giveFolder(scratch.file('data'), process.getuid?.() ?? 0);
  expect(await modeOf(scratch.file('data'))).toBe(0o700);
});
