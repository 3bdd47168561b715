// This program brings no contracts along, but has to know all that they have a word for.
import {
  ApprovalPolicy,
  AuditEntryKind,
  Bundle,
  DoorName,
  GitHostKind,
  GrantRole,
  PassageKind,
} from '@fairlead/contracts';
import { expect, it } from 'vitest';
import { DOORS, ENTRY_KINDS } from './audit.js';
import { GIT_HOST_KINDS } from './git-host.js';
import { ROLES } from './grant.js';
import { TOOLS } from './option-values.js';
import { POLICIES } from './policy.js';
import { KINDS } from './session.js';

it.each([
  ['door', DOORS, DoorName],
  ['kind of what goes through one', KINDS, PassageKind],
  ['kind of entry of an audit log', ENTRY_KINDS, AuditEntryKind],
  ['role of a grant', ROLES, GrantRole],
  ['policy of approval', POLICIES, ApprovalPolicy],
  ['tool that follows a repository', TOOLS, Bundle.shape.tool],
  ['kind of Git host', GIT_HOST_KINDS, GitHostKind],
])('knows every %s', (_what, known, { options }) => {
  expect(known).toEqual(options);
});
