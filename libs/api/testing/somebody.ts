import { randomUUID } from 'node:crypto';
import type { Grant, Principal, Subject } from '@fairlead/contracts';
import type { Script } from './script.js';

/** Somebody who has logged in, and is no administrator unless it is said. */
export function userOf(user: string, more: Partial<Principal> = {}): Principal {
  return {
    user,
    groups: [],
    tenantId: 'default',
    tokenId: randomUUID(),
    kind: 'login',
    subjectGroups: [],
    administrator: false,
    auditor: false,
    expiresAt: null,
    ...more,
  };
}

/** Grants `view` in every cluster, unless it is said otherwise. */
export function grantTo(script: Script, subject: Subject, more: Partial<Grant> = {}): Grant {
  const grant: Grant = {
    id: randomUUID(),
    tenantId: 'default',
    subject,
    effect: 'allow',
    clusters: { all: true },
    role: 'view',
    groups: [],
    narrowing: {},
    notBefore: null,
    expiresAt: null,
    reason: 'to look at it',
    createdBy: 'admin',
    createdAt: new Date().toISOString(),
    requestId: null,
    ...more,
  };
  script.grants.set(grant.id, grant);
  return grant;
}
