import { BUCKETS, grantsKeys, type Grant, type GrantsEntry } from '@fairlead/contracts';
import type { KeyedBucket } from '@fairlead/events';
import type { EntityManager } from 'typeorm';
import { keyOf, subjectEntry } from '../domain/grant.js';
import { grantsOfKeys, subjectKeysAfter } from '../store/grant-store.js';
import { lockdownKeysAfter, lockdownsOfKeys, type StoredLockdown } from '../store/lockdown-store.js';

/** What doors decide by: the grants of each subject, and lockdowns. */
export const GRANTS_BUCKET: KeyedBucket = {
  bucket: BUCKETS.grants,
  completeKey: grantsKeys.complete,
  valuesOf: async (manager, keys) => {
    const values = new Map<string, GrantsEntry>();
    for (const [key, grants] of bySubject(await grantsOfKeys(manager, keys))) {
      const [first] = grants;
      const entry = first && subjectEntry(first.tenantId, first.subject, grants);
      if (entry) values.set(key, entry);
    }
    for (const lockdown of await lockdownsOfKeys(manager, keys))
      values.set(lockdown.bucketKey, lockdownEntry(lockdown));
    return values;
  },
  keysAfter,
};

function bySubject(grants: readonly Grant[]): Map<string, Grant[]> {
  const subjects = new Map<string, Grant[]>();
  for (const grant of grants) {
    const key = keyOf(grant);
    const known = subjects.get(key);
    if (known) known.push(grant);
    else subjects.set(key, [grant]);
  }
  return subjects;
}

function lockdownEntry({ tenantId, clusterId, reason }: StoredLockdown): GrantsEntry {
  return { kind: 'lockdown', tenantId, clusterId, reason };
}

/** Of both kinds, in one order. */
async function keysAfter(manager: EntityManager, after: string, limit: number): Promise<string[]> {
  const subjects = await subjectKeysAfter(manager, after, limit);
  const lockdowns = await lockdownKeysAfter(manager, after, limit);
  return [...subjects, ...lockdowns].toSorted((a, b) => (a < b ? -1 : 1)).slice(0, limit);
}
