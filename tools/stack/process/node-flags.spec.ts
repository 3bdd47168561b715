import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { REPOSITORY } from '../state/repository.js';
import { NODE_ENVIRONMENT, NODE_FLAGS } from './node-flags.js';

it('Node runs our processes here as it does in their images', () => {
  const dockerfile = readFileSync(join(REPOSITORY, 'Dockerfile'), 'utf8');
  const runtime = /^FROM \S+ AS runtime$([^]*?)^FROM /m.exec(dockerfile)?.[1];
  expect(runtime).toContain(`ENTRYPOINT ${JSON.stringify(['node', ...NODE_FLAGS]).replaceAll('","', '", "')}\n`);
  for (const [name, value] of Object.entries(NODE_ENVIRONMENT)) expect(runtime).toContain(`ENV ${name}=${value}\n`);
});

it.runIf(process.platform === 'linux' && process.arch === 'x64')('glibc takes what it is told', () => {
  const told = execFileSync('/lib64/ld-linux-x86-64.so.2', ['--list-tunables'], {
    encoding: 'utf8',
    env: NODE_ENVIRONMENT,
  });
  expect(told).toMatch(/^glibc\.cpu\.x86_rep_movsb_threshold: 0x40000000 /m);
});
