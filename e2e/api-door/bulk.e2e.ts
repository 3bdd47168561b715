// @tier full: gigabytes and hundreds of streams, by each way and each protocol; `streams` shows the same with a few megabytes
import { afterAll, beforeAll } from 'vitest';
import { describeBulk } from './bulk-stories.js';
import { startStreamingWorld, type StreamingWorld } from './world.js';

let world: StreamingWorld;
beforeAll(async () => {
  world = await startStreamingWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

describeBulk(() => world);
