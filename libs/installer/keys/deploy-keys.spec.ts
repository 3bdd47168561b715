import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PublicKey } from '@fairlead/desired-state';
import { scratchDir } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { createSshKey } from './deploy-keys.js';

it('ssh-keygen reads the private half and finds the public one in it', async () => {
  await using scratch = await scratchDir();
  for (let at = 0; at < 5; at += 1) {
    const { privateKey, publicKey } = createSshKey();
    const file = join(scratch.path, `key-${at}`);
    await writeFile(file, privateKey, { mode: 0o600 });
    const { stdout, stderr } = spawnSync('ssh-keygen', ['-y', '-P', '', '-f', file], { encoding: 'utf8' });
    expect({ publicKey: stdout.trim(), stderr }).toEqual({ publicKey, stderr: '' });
    expect(PublicKey.safeParse({ number: 1, publicKey, works: null }).success).toBe(true);
  }
});

it('no two are alike', () => {
  const digests = Array.from({ length: 20 }, () =>
    createHash('sha256').update(createSshKey().privateKey).digest('hex'),
  );
  expect(new Set(digests).size).toBe(20);
});
