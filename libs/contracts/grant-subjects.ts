import { hash } from 'node:crypto';
import type { AccessEntry } from './kv.js';
import type { Subject } from './access.js';

/** Before the user name of an API token, in clusters and in events. */
export const TOKEN_USER_PREFIX = 'token:';
/** Before the name of a client of the CONNECT door, in events. */
export const CLIENT_USER_PREFIX = 'client:';
/** Before the user name of a program that an issuer vouches for. */
export const WORKLOAD_USER_PREFIX = 'workload:';

interface Proven extends Pick<AccessEntry, 'kind' | 'user'> {
  readonly subjectGroups: readonly string[];
}

/**
 * Whose grants count for somebody: their own, and those of their issuer's groups. Nobody's for the administrator, who needs none. An API token is no
 * `user`, nor is a program: a grant to the user `token:x` means nobody.
 */
export function subjectsOf({ kind, user, subjectGroups }: Proven): Subject[] {
  if (kind === 'administrator') return [];
  const groups = subjectGroups.map((name): Subject => ({ kind: 'group', name }));
  return [ownSubject(kind, user), ...groups];
}

function ownSubject(kind: Exclude<AccessEntry['kind'], 'administrator'>, user: string): Subject {
  if (kind === 'token') return { kind: 'token', name: without(TOKEN_USER_PREFIX, user) };
  if (kind === 'workload') return { kind: 'workload', name: without(WORKLOAD_USER_PREFIX, user) };
  return { kind: 'user', name: user };
}

/** The user name that a subject has in clusters and in events; of a group, its own name. */
export function userOfSubject({ kind, name }: Subject): string {
  if (kind === 'token') return `${TOKEN_USER_PREFIX}${name}`;
  if (kind === 'client') return `${CLIENT_USER_PREFIX}${name}`;
  return kind === 'workload' ? `${WORKLOAD_USER_PREFIX}${name}` : name;
}

function without(prefix: string, user: string): string {
  return user.startsWith(prefix) ? user.slice(prefix.length) : user;
}

/** SHA-256 of kind and name, base64url: names of people are no keys of a bucket. The same in every version. */
export function subjectHash({ kind, name }: Subject): string {
  return hash('sha256', `${kind}:${name}`, 'base64url');
}

/** Keys of the bucket `grants`. */
export const grantsKeys = {
  subject: (tenantId: string, subject: Subject): string => `${tenantId}.subject.${subjectHash(subject)}`,
  /** Null: every cluster of the tenant. */
  lockdown: (tenantId: string, clusterId: string | null): string => `${tenantId}.lockdown.${clusterId ?? 'all'}`,
  /** Of no tenant: it is there once all the others are. */
  complete: 'complete',
} as const;
