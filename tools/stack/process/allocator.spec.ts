import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { REPOSITORY } from '../state/repository.js';
import { ALLOCATOR, allocatorEnvironment } from './allocator.js';

it('a gateway allocates here as it does in its image', () => {
  const dockerfile = readFileSync(join(REPOSITORY, 'Dockerfile'), 'utf8');
  const gateway = /^FROM runtime AS gateway$([^]*?)^FROM /m.exec(dockerfile)?.[1];
  expect(gateway).toContain(`ENV LD_PRELOAD=/usr/local/lib/${ALLOCATOR}\n`);
  const { LD_PRELOAD = ALLOCATOR, ...others } = allocatorEnvironment();
  expect(LD_PRELOAD.endsWith(ALLOCATOR)).toBe(true);
  expect(others).toEqual({});
});
