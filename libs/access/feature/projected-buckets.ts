import { AccessBucketEntry, AccessEntry, BUCKETS, LoginSessionEntry } from '@fairlead/contracts';
import type { ProjectedBucket } from '@fairlead/events';
import { standingSessions, type StandingSession } from '../store/login-store.js';
import type { Credential, CredentialSource } from './credentials.js';

/** What gateways know: whose secret is it, of these sources, and which sessions of people go on. */
export function accessBucket(
  sources: readonly CredentialSource[],
  now: () => Date,
): ProjectedBucket<AccessBucketEntry> {
  return {
    bucket: BUCKETS.access,
    schema: AccessBucketEntry,
    rows: async (manager) => {
      const entries = new Map<string, AccessBucketEntry>();
      for (const source of sources) {
        for (const credential of await source.all(manager, now())) entries.set(...toEntry(credential));
      }
      for (const session of await standingSessions(manager, now())) entries.set(...toSessionEntry(session));
      return entries;
    },
  };
}

function toEntry({ expiresAt, ...credential }: Credential): [string, AccessEntry] {
  const entry = AccessEntry.parse({ ...credential, expiresAt: expiresAt?.toISOString() ?? null });
  return [`${entry.tenantId}.token.${entry.tokenId}`, entry];
}

function toSessionEntry({ endsAt, ...session }: StandingSession): [string, LoginSessionEntry] {
  const entry = LoginSessionEntry.parse({ ...session, endsAt: endsAt.toISOString() });
  return [`${entry.tenantId}.session.${entry.sessionId}`, entry];
}
