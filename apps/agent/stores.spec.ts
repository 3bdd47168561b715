import assert from 'node:assert/strict';
import { chmod, chown, writeFile } from 'node:fs/promises';
import { scratchDir } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { readBundleFile } from './stores.js';

it('reads an identity bundle that is for its owner only, and none that others can read', async () => {
  await using scratch = await scratchDir();
  const path = scratch.file('bundle.json');
  expect(await readBundleFile(undefined)).toBeNull();
  expect(await readBundleFile(path)).toBeNull();
  await writeFile(path, '{}', { mode: 0o600 });
  expect(await readBundleFile(path)).toBe('{}');
  for (const mode of [0o604, 0o644, 0o620, 0o606]) {
    await chmod(path, mode);
    await expect(readBundleFile(path)).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: expect.stringContaining(`mode ${mode.toString(8)}`) as string,
    });
  }
  // A mounted Secret belongs to root and to the pod's group; elsewhere a group is other people.
  await chmod(path, 0o440);
  if (process.getuid?.() === 0) {
    const asRoots = await readBundleFile(path);
    assert.equal(asRoots, '{}');
    await chown(path, 65_532, 65_532);
  }
  await expect(readBundleFile(path)).rejects.toMatchObject({ code: 'FORBIDDEN' });
});
