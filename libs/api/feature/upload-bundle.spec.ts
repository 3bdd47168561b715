import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { gitopsRpc } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { catalogOperations } from '../contract/catalog-operations.js';
import { Backend } from './backend.js';
import { FINISH_TRIES_MS, uploadBundle } from './upload-bundle.js';

const announced = {
  tool: 'flux',
  version: 'v1',
  bytes: 3,
  digest: 'ab'.repeat(32),
  origin: 'x',
  actor: 'ada',
} as const;

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** `gitops`, which fails each try to finish. Returns which methods it was asked for. */
function uploadTo(failure: FairleadError): { asked: string[]; outcome: Promise<unknown> } {
  const asked: string[] = [];
  const backend = new Backend({
    call: async ({ method }) => {
      asked.push(method);
      if (method === gitopsRpc.finishBundle.method) throw failure;
      return { uploadId: randomUUID() } as never;
    },
  });
  const outcome = uploadBundle(backend, 'default', announced, Readable.from([Buffer.from('abc')]));
  return { asked, outcome: outcome.catch((error: unknown) => error) };
}

it('is given up, and told so, once others were busy for too long', async () => {
  const busy = new FairleadError('RATE_LIMITED', 'busy');
  const { asked, outcome } = uploadTo(busy);
  await vi.advanceTimersByTimeAsync(2 * FINISH_TRIES_MS);
  expect(await outcome).toBe(busy);
  const tries = asked.filter((method) => method === gitopsRpc.finishBundle.method).length;
  expect(tries).toBeGreaterThan(5);
  expect(tries).toBeLessThan(60);
  expect(asked.at(-1)).toBe(gitopsRpc.cancelBundle.method);
});

it('is given up at once for anything else', async () => {
  const refused = new FairleadError('INVALID_ARGUMENT', 'no YAML');
  const { asked, outcome } = uploadTo(refused);
  await vi.advanceTimersByTimeAsync(100);
  expect(await outcome).toBe(refused);
  const { beginBundle, bundlePiece, finishBundle, cancelBundle } = gitopsRpc;
  expect(asked).toEqual([beginBundle, bundlePiece, finishBundle, cancelBundle].map(({ method }) => method));
});

it('the connection outlives all of it', () => {
  const { uploadBundle: upload, importBundle } = catalogOperations;
  expect(upload.answersWithinMs).toBeGreaterThan(FINISH_TRIES_MS + gitopsRpc.finishBundle.timeoutMs);
  expect(importBundle.answersWithinMs).toBeGreaterThan(gitopsRpc.importBundleUrl.timeoutMs);
});
