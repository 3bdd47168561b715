import { gitopsRpc } from '@fairlead/contracts';
import { expect, it } from 'vitest';
import { READER_LIMITS } from './bundle-reader.js';
import { FETCH_TIMEOUT_MS } from './fetch-bundle.js';

const { timeMs, waitMs } = READER_LIMITS;
/** To read the pieces from the database, to compress them as well as can be, and to write them. */
const BESIDES_MS = 8_000;

it('who waits for one bundle to be read gets a turn, however long that one takes', () => {
  expect(waitMs).toBeGreaterThan(timeMs);
});

it('nobody is told that it took too long while it is still being done', () => {
  expect(gitopsRpc.finishBundle.timeoutMs).toBeGreaterThan(waitMs + timeMs + BESIDES_MS);
  expect(gitopsRpc.importBundleUrl.timeoutMs).toBeGreaterThan(FETCH_TIMEOUT_MS + waitMs + timeMs + BESIDES_MS);
});
