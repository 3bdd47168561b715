// @tier full: `streams` shows each way and each protocol once
import { afterAll, beforeAll } from 'vitest';
import { describeStreams, startStreamingWorld, type StreamingWorld } from './world.js';

let world: StreamingWorld;
beforeAll(async () => {
  world = await startStreamingWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

describeStreams(
  [
    ['own', 'WebSocket'],
    ['relay', 'SPDY'],
  ],
  () => world,
);
