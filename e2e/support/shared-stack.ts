import { afterAll, beforeAll } from 'vitest';
import type { StackOptions } from '@fairlead/stack';
import { startTestStack, type TestStack } from './test-stack.js';

let shared: TestStack | undefined;

/**
 * One stack for all stories of a test file, each of which leaves it as the next one needs it: a start of its own costs
 * some 16 CPU seconds. To be called once, at the top of the file; the stories are imported, each in a `describe`. Options that
 * have to be made first are given by a function.
 */
export function shareStack(options: Partial<StackOptions> | (() => Promise<Partial<StackOptions>>) = {}): void {
  beforeAll(async () => {
    shared = await startTestStack(typeof options === 'function' ? await options() : options);
  });
  afterAll(async () => {
    await shared?.[Symbol.asyncDispose]();
  });
}

/** For the `beforeAll` of a story. */
export function sharedStack(): TestStack {
  if (shared === undefined) throw new Error('no stack is shared here: call shareStack at the top of the test file');
  return shared;
}
