import { mkdir, readdir, readFile, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../fixtures/temporary.js';
import { fill, listEntries, lookUp, type CacheKey, type FillOptions } from './cache.js';

const ENTRY = { version: '1.2.3', provider: 'go', source: 'a test' } as const;

function keyIn(root: string): CacheKey {
  return { root, name: 'etcd', entry: '1.2.3-abc-linux-amd64' };
}

/** Makes `content`, counting how often. */
function maker(content = 'binary') {
  const made = { times: 0 };
  const options: FillOptions = {
    log: () => {},
    make: async (path) => {
      made.times++;
      await writeFile(path, content);
      return ENTRY;
    },
  };
  return { made, options };
}

describe('cache', () => {
  it('makes an entry once and finds it again', async () => {
    await using dir = await temporaryDirectory();
    const { made, options } = maker();
    const first = await fill(keyIn(dir.path), options);
    const second = await fill(keyIn(dir.path), options);
    expect(second).toEqual(first);
    expect(made.times).toBe(1);
    expect(await readFile(first.path, 'utf8')).toBe('binary');
    expect(await listEntries(dir.path, 'etcd')).toEqual(['1.2.3-abc-linux-amd64']);
  });

  it('makes it once for callers at the same time', async () => {
    await using dir = await temporaryDirectory();
    const { made, options } = maker();
    const found = await Promise.all([1, 2, 3].map(() => fill(keyIn(dir.path), options)));
    expect(new Set(found.map(({ path }) => path)).size).toBe(1);
    expect(made.times).toBe(1);
  });

  it('makes a corrupted binary anew', async () => {
    await using dir = await temporaryDirectory();
    const { made, options } = maker();
    const { path } = await fill(keyIn(dir.path), options);
    await truncate(path, 3);
    expect(await lookUp(keyIn(dir.path))).toBeUndefined();
    await fill(keyIn(dir.path), options);
    expect(await readFile(path, 'utf8')).toBe('binary');
    expect(made.times).toBe(2);
  });

  it('reads a binary again that was changed after it was found to be right, though size and time are the same', async () => {
    await using dir = await temporaryDirectory();
    const { path } = await fill(keyIn(dir.path), maker('binary').options);
    expect(await lookUp(keyIn(dir.path))).toMatchObject({ path });
    const { atime, mtime } = await stat(path);
    await writeFile(path, 'forged');
    await utimes(path, atime, mtime);
    expect(await lookUp(keyIn(dir.path))).toBeUndefined();
  });

  it('reads a binary once and not again, in whichever process', async () => {
    await using dir = await temporaryDirectory();
    const { path } = await fill(keyIn(dir.path), maker('binary').options);
    await lookUp(keyIn(dir.path));
    const note = await readFile(`${path}.checked`, 'utf8');
    await lookUp(keyIn(dir.path));
    expect(await readFile(`${path}.checked`, 'utf8')).toBe(note);
    await writeFile(`${path}.checked`, 'what no one noted');
    expect(await lookUp(keyIn(dir.path))).toMatchObject({ path });
    expect(await readFile(`${path}.checked`, 'utf8')).toBe(note);
  });

  it('never uses what a failed maker left, and tries again', async () => {
    await using dir = await temporaryDirectory();
    const broken: FillOptions = {
      log: () => {},
      make: async (path) => {
        await writeFile(path, 'half');
        throw new Error('the build failed');
      },
    };
    await expect(fill(keyIn(dir.path), broken)).rejects.toThrow('the build failed');
    expect(await lookUp(keyIn(dir.path))).toBeUndefined();
    expect(await readdir(join(dir.path, 'etcd'))).toEqual([]);
    await expect(fill(keyIn(dir.path), maker().options)).resolves.toMatchObject({ entry: ENTRY });
  });

  it('never uses what a killed maker left, and clears it away', async () => {
    await using dir = await temporaryDirectory();
    const entry = join(dir.path, 'etcd', keyIn(dir.path).entry);
    // Killed while it made one, and (were renames not atomic) after the binary but before the record.
    for (const left of [`${entry}.tmp-1-00`, entry]) {
      await mkdir(left, { recursive: true });
      await writeFile(join(left, 'etcd'), 'half');
    }
    expect(await lookUp(keyIn(dir.path))).toBeUndefined();
    const { path } = await fill(keyIn(dir.path), maker().options);
    expect(await readFile(path, 'utf8')).toBe('binary');
    expect(await readdir(join(dir.path, 'etcd'))).toEqual([keyIn(dir.path).entry]);
  });

  it('takes over the lock of a maker that died', async () => {
    await using dir = await temporaryDirectory();
    const lock = `${join(dir.path, 'etcd', keyIn(dir.path).entry)}.lock`;
    await mkdir(lock, { recursive: true });
    const longAgo = new Date(Date.now() - 60_000);
    await utimes(lock, longAgo, longAgo);
    await expect(fill(keyIn(dir.path), maker().options)).resolves.toMatchObject({ entry: ENTRY });
  });

  it('stops waiting when it is told to', async () => {
    await using dir = await temporaryDirectory();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: blocked, resolve: finish } = Promise.withResolvers<void>();
    const slow: FillOptions = {
      log: () => {},
      make: async (path) => {
        begin();
        await blocked;
        await writeFile(path, 'binary');
        return ENTRY;
      },
    };
    const first = fill(keyIn(dir.path), slow);
    // Else the second may have the lock first, and then it makes instead of waiting.
    await begun;
    const signal = AbortSignal.timeout(50);
    await expect(fill(keyIn(dir.path), { ...slow, signal })).rejects.toThrow(/aborted/u);
    finish();
    await first;
  });
});
