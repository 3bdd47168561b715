import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { scratchDir } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { bundleIn } from './repository.js';

it('takes a bundle only while it is of the present files', async () => {
  await using dist = await scratchDir();
  expect(bundleIn(dist.path)).toBeUndefined();
  mkdirSync(dist.file('bundle'));
  writeFileSync(dist.file('main.js'), 'one');
  writeFileSync(dist.file('lib.js'), 'two');
  const digest = createHash('sha256').update('onetwo').digest('hex');
  writeFileSync(dist.file('bundle', 'inputs.json'), JSON.stringify({ files: ['main.js', 'lib.js'], digest }));
  expect(bundleIn(dist.path)).toBe(dist.file('bundle', 'main.js'));
  writeFileSync(dist.file('lib.js'), 'three');
  expect(bundleIn(dist.path)).toBeUndefined();
  rmSync(dist.file('lib.js'));
  expect(bundleIn(dist.path)).toBeUndefined();
});
