import { z } from 'zod';

// As in answers.ts: only what this command shows.

const Scope = z.looseObject({
  names: z.array(z.string()).optional(),
  selector: z.string().optional(),
  all: z.boolean().optional(),
});
const words = z.array(z.string()).optional();
const Narrowing = z.looseObject({
  verbs: words,
  apiGroups: words,
  resources: words,
  namespaces: words,
  names: words,
  nonResourceUrls: words,
});
const next = z.string().optional();

export const Grant = z.looseObject({
  id: z.string(),
  subject: z.looseObject({ kind: z.string(), name: z.string() }),
  effect: z.string(),
  clusters: Scope,
  role: z.string().nullable(),
  groups: z.array(z.string()),
  narrowing: Narrowing,
  targets: words,
  impersonate: z.looseObject({ users: words, groups: words }).optional(),
  notBefore: z.string().nullable(),
  expiresAt: z.string().nullable(),
  reason: z.string(),
  createdBy: z.string(),
  createdAt: z.string(),
  requestId: z.string().nullable(),
});
export type Grant = z.infer<typeof Grant>;
export const GrantList = z.looseObject({ grants: z.array(Grant), next });

export const AccessRequest = z.looseObject({
  id: z.string(),
  user: z.string(),
  clusters: Scope,
  role: z.string(),
  narrowing: Narrowing,
  seconds: z.number(),
  reason: z.string(),
  state: z.string(),
  createdAt: z.string(),
  decidedBy: z.string().nullable(),
  grantId: z.string().nullable(),
});
export type AccessRequest = z.infer<typeof AccessRequest>;
export const AccessRequestList = z.looseObject({ requests: z.array(AccessRequest), next });

export const AccessExplanation = z.looseObject({
  allowed: z.boolean(),
  grantId: z.string().nullable(),
  groups: z.array(z.string()),
  because: z.string(),
});

export const Lockdown = z.looseObject({
  cluster: z.string().nullable(),
  by: z.string(),
  at: z.string(),
  reason: z.string(),
});
export type Lockdown = z.infer<typeof Lockdown>;
export const LockdownList = z.looseObject({ lockdowns: z.array(Lockdown) });

export const ApiToken = z.looseObject({
  id: z.string(),
  name: z.string(),
  createdBy: z.string(),
  createdAt: z.string(),
  expiresAt: z.string().nullable(),
  lastUsedAt: z.string().nullable(),
  revokedAt: z.string().nullable(),
});
export type ApiToken = z.infer<typeof ApiToken>;
export const ApiTokenList = z.looseObject({ tokens: z.array(ApiToken), next });
export const CreatedApiToken = z.looseObject({ token: ApiToken, secret: z.string().min(1) });

export const Issuer = z.looseObject({
  name: z.string(),
  kind: z.string(),
  url: z.string(),
  audience: z.string(),
  prefix: z.string(),
});
export type Issuer = z.infer<typeof Issuer>;
export const IssuerList = z.looseObject({ issuers: z.array(Issuer) });

export const UserList = z.looseObject({
  users: z.array(
    z.looseObject({
      name: z.string(),
      kind: z.string(),
      issuer: z.string(),
      groups: z.array(z.string()),
      lastLoginAt: z.string(),
    }),
  ),
  next,
});

/** Whether the one who is logged in is an administrator; an older server had nobody else. */
export const Standing = z.looseObject({ user: z.string(), administrator: z.boolean().default(true) });
