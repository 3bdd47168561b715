import { AccessEntry, BUCKETS } from '@fairlead/contracts';
import type { ProjectedBucket } from '@fairlead/events';
import type { Credential, CredentialSource } from './credentials.js';

/** Whose secret is it: what gateways know of these sources. */
export function accessBucket(sources: readonly CredentialSource[], now: () => Date): ProjectedBucket {
  return {
    bucket: BUCKETS.access,
    schema: AccessEntry,
    rows: async (manager) => {
      const entries = new Map<string, AccessEntry>();
      for (const source of sources) {
        for (const credential of await source.all(manager, now())) entries.set(...toEntry(credential));
      }
      return entries;
    },
  };
}

function toEntry({ expiresAt, ...credential }: Credential): [string, AccessEntry] {
  const entry = AccessEntry.parse({ ...credential, expiresAt: expiresAt?.toISOString() ?? null });
  return [`${entry.tenantId}.token.${entry.tokenId}`, entry];
}
