import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { REPOSITORY } from '../state/repository.js';
import { ALLOCATOR_SETTINGS, allocatorEnvironment } from './allocator.js';

it('a gateway allocates here as it does in its image', () => {
  const dockerfile = readFileSync(join(REPOSITORY, 'Dockerfile'), 'utf8');
  const gateway = /^FROM runtime AS gateway$([^]*?)^FROM /m.exec(dockerfile)?.[1];
  expect(gateway).toContain(`ENV LD_PRELOAD=/usr/local/lib/libjemalloc.so.2 MALLOC_CONF=${ALLOCATOR_SETTINGS}\n`);
  const { MALLOC_CONF = ALLOCATOR_SETTINGS } = allocatorEnvironment();
  expect(MALLOC_CONF).toBe(ALLOCATOR_SETTINGS);
});
