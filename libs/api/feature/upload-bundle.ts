import type { Readable } from 'node:stream';
import { fullJitterMs, systemClock } from '@fairlead/clock';
import { gitopsRpc, type Bundle } from '@fairlead/contracts';
import { BundleLimits } from '@fairlead/desired-state';
import { FairleadError } from '@fairlead/errors';
import type { z } from 'zod';
import type { Backend } from './backend.js';

type Announced = z.input<typeof gitopsRpc.beginBundle.input>;

/** No try to finish begins later than this after the first: `gitops` reads one bundle at a time, and has others waiting. */
export const FINISH_TRIES_MS = 45_000;
const FINISH_PAUSE = { baseMs: 1_000, capMs: 5_000 };

/**
 * Passes a bundle on as it arrives, one piece at a time: never more of it is held here, and whoever sends is as fast as `gitops` takes it.
 * INVALID_ARGUMENT if it is not as long as announced, and what `gitops` refuses. One that does not come to an end takes no room there; one
 * that arrived is not sent anew because `gitops` is busy.
 */
export async function uploadBundle(
  backend: Backend,
  tenantId: string,
  announced: Announced,
  body: Readable,
): Promise<Bundle> {
  const { uploadId } = await backend.write(gitopsRpc.beginBundle, tenantId, announced);
  try {
    await passOn(backend, tenantId, { uploadId, bytes: announced.bytes }, body);
    return await finish(backend, tenantId, uploadId);
  } catch (error) {
    // If `gitops` cannot be asked now either, it is gone there after a quarter of an hour.
    await backend.write(gitopsRpc.cancelBundle, tenantId, { uploadId }).catch(() => undefined);
    throw error;
  }
}

/** Again and again while `gitops` is busy; its last answer once that has taken too long. */
async function finish(backend: Backend, tenantId: string, uploadId: string): Promise<Bundle> {
  const lastAtMs = systemClock.monotonicMs() + FINISH_TRIES_MS;
  for (let tries = 0; ; tries += 1) {
    try {
      return await backend.write(gitopsRpc.finishBundle, tenantId, { uploadId });
    } catch (error) {
      const pauseMs = FINISH_PAUSE.baseMs / 2 + fullJitterMs(tries, FINISH_PAUSE);
      const isBusy = error instanceof FairleadError && error.code === 'RATE_LIMITED';
      if (!isBusy || systemClock.monotonicMs() + pauseMs > lastAtMs) throw error;
      await systemClock.sleep(pauseMs);
    }
  }
}

async function passOn(
  backend: Backend,
  tenantId: string,
  { uploadId, bytes }: { readonly uploadId: string; readonly bytes: number },
  body: Readable,
): Promise<void> {
  let offset = 0;
  const brokeOff = (cause?: unknown): FairleadError =>
    new FairleadError('INVALID_ARGUMENT', `the body broke off after ${offset} of ${bytes} bytes`, { cause });
  const pieces = inPieces(body, BundleLimits.chunkBytes);
  try {
    for (;;) {
      // Whoever sent it may be gone: that is no failure of ours.
      const { value: piece } = await pieces.next().catch((error: unknown) => Promise.reject(brokeOff(error)));
      if (!piece) break;
      const input = { uploadId, offset, piece: piece.toString('base64') };
      await backend.write(gitopsRpc.bundlePiece, tenantId, input);
      offset += piece.length;
    }
  } finally {
    await pieces.return(undefined);
  }
  if (offset !== bytes) throw brokeOff();
}

/** Of this size, but for the last. Whoever takes no more of them still has the body: with it would go the connection, and the answer. */
async function* inPieces(body: Readable, size: number): AsyncGenerator<Buffer, undefined> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    held.push(chunk);
    heldBytes += chunk.length;
    if (heldBytes < size) continue;
    let rest = Buffer.concat(held);
    for (; rest.length >= size; rest = rest.subarray(size)) yield rest.subarray(0, size);
    held = [rest];
    heldBytes = rest.length;
  }
  if (heldBytes > 0) yield Buffer.concat(held);
  return undefined;
}
