import { join } from 'node:path';
import { it } from 'vitest';
import { SAMPLES, checkReceiver } from './testing/receiver-sample.js';

it('the sample of a receiver in TypeScript takes what is real, once, and nothing else', () =>
  checkReceiver(process.execPath, join(SAMPLES, 'typescript', 'receiver.ts')));
