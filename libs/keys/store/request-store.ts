import type { EntityManager } from 'typeorm';
import { IssuingRequestRow } from './entities.js';
import type { Sealer } from './sealer.js';

/** Keeps a key, sealed, until the certificate that was asked for it comes. */
export async function keepRequestedKey(
  manager: EntityManager,
  sealer: Sealer,
  spkiSha256: string,
  privateKeyPem: string,
): Promise<void> {
  const sealedKey = await sealer.seal(privateKeyPem, context(spkiSha256));
  await manager.insert(IssuingRequestRow, { spkiSha256, sealedKey });
}

/** Null if no certificate was asked for such a key. */
export async function requestedKey(manager: EntityManager, sealer: Sealer, spkiSha256: string): Promise<string | null> {
  const row = await manager.findOneBy(IssuingRequestRow, { spkiSha256 });
  return row && sealer.unseal(row.sealedKey, context(spkiSha256));
}

/** The key is a CA's now, or never will be. */
export async function forgetRequestedKey(manager: EntityManager, spkiSha256: string): Promise<void> {
  await manager.delete(IssuingRequestRow, { spkiSha256 });
}

function context(spkiSha256: string): string {
  return `${spkiSha256}:issuing-request`;
}
