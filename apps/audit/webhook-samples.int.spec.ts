// @tier full: Go is compiled and Python is run; apps/audit/webhook-sample tries the same sample in TypeScript
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { scratchDir } from '@fairlead/testing';
import { it } from 'vitest';
import { SAMPLES, checkReceiver } from './testing/receiver-sample.js';

const run = promisify(execFile);

it('the sample of a receiver in Go takes what is real, once, and nothing else', async () => {
  await using scratch = await scratchDir();
  const binary = scratch.file('receiver');
  await run('go', ['build', '-o', binary, '.'], { cwd: join(SAMPLES, 'go'), timeout: 150_000 });
  await checkReceiver(binary);
});

it('the sample of a receiver in Python takes what is real, once, and nothing else', () =>
  checkReceiver('python3', join(SAMPLES, 'python', 'receiver.py')));
