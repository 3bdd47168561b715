import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scratchDir } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { pointLink } from './programs.js';

it('still points to the program when the link itself was found on PATH', async () => {
  await using scratch = await scratchDir();
  const [program, link] = [join(scratch.path, 'program'), join(scratch.path, 'link')];
  writeFileSync(program, 'it');
  expect(pointLink(link, program)).toBe(realpathSync(program));
  expect(pointLink(link, link)).toBe(realpathSync(program));
  expect(readFileSync(link, 'utf8')).toBe('it');
});
