import { join } from 'node:path';
import { expect, it } from 'vitest';
import { AS_IT_SHOULD, RECEIVERS, tryReceiver } from './testing/receiver-sample.js';

it('the sample of a receiver in TypeScript takes what is real, once, and nothing else', async () => {
  const tried = await tryReceiver(process.execPath, join(RECEIVERS, 'typescript', 'receiver.ts'));
  expect(tried).toEqual(AS_IT_SHOULD);
});
