// @tier full: Go is compiled and Python is run; apps/audit/webhook-sample tries the same sample in TypeScript
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { scratchDir } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { AS_IT_SHOULD, RECEIVERS, tryReceiver } from './testing/receiver-sample.js';

const run = promisify(execFile);

it('the sample of a receiver in Go takes what is real, once, and nothing else', async () => {
  await using scratch = await scratchDir();
  const binary = scratch.file('receiver');
  await run('go', ['build', '-o', binary, '.'], { cwd: join(RECEIVERS, 'go'), timeout: 150_000 });
  expect(await tryReceiver(binary)).toEqual(AS_IT_SHOULD);
});

it('the sample of a receiver in Python takes what is real, once, and nothing else', async () => {
  expect(await tryReceiver('python3', join(RECEIVERS, 'python', 'receiver.py'))).toEqual(AS_IT_SHOULD);
});
