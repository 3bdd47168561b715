import type { Readable } from 'node:stream';
import { gitopsRpc, type Bundle } from '@fairlead/contracts';
import { BundleLimits } from '@fairlead/desired-state';
import { FairleadError } from '@fairlead/errors';
import type { z } from 'zod';
import type { Backend } from './backend.js';

type Announced = z.input<typeof gitopsRpc.beginBundle.input>;

/**
 * Passes a bundle on as it arrives, one piece at a time: never more of it is held here, and whoever sends is as fast as `gitops` takes it.
 * INVALID_ARGUMENT if it is not as long as announced, and what `gitops` refuses.
 */
export async function uploadBundle(
  backend: Backend,
  tenantId: string,
  announced: Announced,
  body: Readable,
): Promise<Bundle> {
  const { uploadId } = await backend.write(gitopsRpc.beginBundle, tenantId, announced);
  let offset = 0;
  for await (const piece of inPieces(body, BundleLimits.chunkBytes)) {
    const input = { uploadId, offset, piece: piece.toString('base64') };
    await backend.write(gitopsRpc.bundlePiece, tenantId, input);
    offset += piece.length;
  }
  if (offset !== announced.bytes) {
    throw new FairleadError('INVALID_ARGUMENT', `the body broke off after ${offset} of ${announced.bytes} bytes`);
  }
  return backend.write(gitopsRpc.finishBundle, tenantId, { uploadId });
}

/** Of this size, but for the last. */
async function* inPieces(body: Readable, size: number): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    held.push(chunk);
    heldBytes += chunk.length;
    if (heldBytes < size) continue;
    let rest = Buffer.concat(held);
    for (; rest.length >= size; rest = rest.subarray(size)) yield rest.subarray(0, size);
    held = [rest];
    heldBytes = rest.length;
  }
  if (heldBytes > 0) yield Buffer.concat(held);
}
