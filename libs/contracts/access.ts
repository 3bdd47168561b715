import { ClusterRoleName, MayImpersonate, Narrowing } from '@fairlead/access-rules';
import { z } from 'zod';
import { LabelSelector } from './label-selector.js';
import {
  Base64,
  ClusterName,
  IsoTime,
  KubeIdentity,
  MAX_CLUSTER_NAMES,
  TargetRules,
  TenantId,
  UserName,
} from './primitives.js';
import { Revision, ifRevision } from './revision.js';
import { rpcOf } from './rpc.js';
import { IssuedStatement, StatementSeconds } from './issued-statement.js';

/** How somebody proved who they are. `administrator`: the token that the installation is set up with, the way in when all else is away. */
export const TokenKind = z.enum(['administrator', 'token', 'login', 'workload']);
export type TokenKind = z.infer<typeof TokenKind>;

/** Whom a grant is for. A group is one of an issuer; a token is an API token, and a client one of the CONNECT door, by its name. */
export const Subject = z.strictObject({
  kind: z.enum(['user', 'group', 'workload', 'token', 'client']),
  name: UserName.refine((name) => !name.startsWith('system:'), 'names that begin with system: are Kubernetes’ own'),
});
export type Subject = z.infer<typeof Subject>;

/** Who asks, as the access service knows it. */
export const Principal = KubeIdentity.extend({
  tenantId: TenantId,
  tokenId: z.uuid(),
  kind: TokenKind,
  /** Groups of the issuer; only grants look at them, and no cluster is told. */
  subjectGroups: z.array(z.string().min(1).max(256)).max(256),
  /** Whether the whole admin API of the tenant is theirs. */
  administrator: z.boolean(),
  /** Whether they may read its audit log. An administrator may anyway. An older access service knows no such role. */
  auditor: z.boolean().default(false),
  expiresAt: IsoTime.nullable(),
});
export type Principal = z.infer<typeof Principal>;

/** Which clusters: those of these names, those whose labels meet the selector, or all of the tenant. */
export const ClusterScope = z.union([
  z.strictObject({ names: z.array(ClusterName).min(1).max(64) }),
  z.strictObject({ selector: LabelSelector }),
  z.strictObject({ all: z.literal(true) }),
]);
export type ClusterScope = z.infer<typeof ClusterScope>;

/**
 * What somebody may be at the admin API of the tenant, which gives nothing in a cluster, and takes all clusters and no narrowing. `administrator`: everything; `auditor`: they read the audit
 * log, and verify it.
 */
export const ApiRole = z.enum(['administrator', 'auditor']);
export type ApiRole = z.infer<typeof ApiRole>;

export const GrantRole = z.enum([...ClusterRoleName.options, ...ApiRole.options]);
export type GrantRole = z.infer<typeof GrantRole>;

export function isApiRole(role: GrantRole | null): role is ApiRole {
  return ApiRole.options.some((option) => option === role);
}

/** Groups that clusters bind themselves, beside or instead of a role. */
const KubernetesGroup = z
  .string()
  .min(1)
  .max(253)
  .refine((group) => !/^(system|fairlead):/.test(group), 'groups that begin with system: or fairlead: are taken');

/** What an administrator says of a grant. */
export const NewGrant = z.strictObject({
  subject: Subject,
  effect: z.enum(['allow', 'deny']).default('allow'),
  clusters: ClusterScope,
  role: GrantRole.nullable(),
  groups: z.array(KubernetesGroup).max(8).default([]),
  narrowing: Narrowing.default({}),
  /** Of a client, and of nobody else: what it may ask for at the CONNECT door. Its agent's own rules count besides. */
  targets: TargetRules.min(1).optional(),
  impersonate: MayImpersonate.optional(),
  notBefore: IsoTime.nullable().default(null),
  /** Null: until it is deleted. */
  expiresAt: IsoTime.nullable(),
  reason: z.string().min(1).max(512),
});
export type NewGrant = z.infer<typeof NewGrant>;

export const Grant = z.object(NewGrant.shape).extend({
  id: z.uuid(),
  tenantId: TenantId,
  createdBy: UserName,
  createdAt: IsoTime,
  /** Of the request that it was approved for; null: an administrator made it. */
  requestId: z.uuid().nullable(),
});
export type Grant = z.infer<typeof Grant>;

export const TokenName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'a token name is 1 to 63 lower-case letters, digits and dashes');

/** An API token, without its secret. In clusters it is the user `token:<name>`. */
export const ApiToken = z.object({
  id: z.uuid(),
  tenantId: TenantId,
  name: TokenName,
  createdBy: UserName,
  createdAt: IsoTime,
  expiresAt: IsoTime.nullable(),
  /** To the minute; null: never. */
  lastUsedAt: IsoTime.nullable(),
  revokedAt: IsoTime.nullable(),
});
export type ApiToken = z.infer<typeof ApiToken>;

/** Somebody asks for a grant of limited time; somebody else decides. */
export const AccessRequest = z.object({
  id: z.uuid(),
  tenantId: TenantId,
  user: UserName,
  clusters: ClusterScope,
  role: ClusterRoleName,
  narrowing: Narrowing,
  /** From its approval on. */
  seconds: z.int().min(60).max(604_800),
  reason: z.string().min(1).max(512),
  state: z.enum(['pending', 'approved', 'rejected', 'lapsed']),
  createdAt: IsoTime,
  decidedBy: UserName.nullable(),
  decidedAt: IsoTime.nullable(),
  grantId: z.uuid().nullable(),
});
export type AccessRequest = z.infer<typeof AccessRequest>;

/** All access of people and programs through doors, off: to one cluster, or to the tenant. Tokens of kind `administrator` go on. */
export const Lockdown = z.object({
  /** Null: every cluster of the tenant. */
  cluster: ClusterName.nullable(),
  by: UserName,
  at: IsoTime,
  reason: z.string().min(1).max(512),
});
export type Lockdown = z.infer<typeof Lockdown>;

/** Where people log in, or whose tokens of programs are taken. */
export const Issuer = z.strictObject({
  name: TokenName,
  kind: z.enum(['oidc', 'workload']),
  /** `iss` of its tokens; discovery is below it. https, or http on loopback. */
  url: z.url({ protocol: /^https?$/ }).max(512),
  /** The client of ours that people log in with; of a workload issuer, the audience that its tokens must have. */
  audience: z.string().min(1).max(256),
  scopes: z.array(z.string().min(1).max(64)).max(16).default(['openid', 'profile', 'email', 'offline_access']),
  userClaim: z.string().min(1).max(64).default('sub'),
  groupsClaim: z.string().min(1).max(64).default('groups'),
  /** Before every user and group name of this issuer, so that no issuer can name another's. */
  prefix: z.string().max(64),
  /** PEM roots for it; null: the system's. */
  certificateAuthority: z.string().max(16_384).nullable().default(null),
  /** Claims that have to have these values, `*` at the end for whatever follows. A workload issuer has at least one. */
  requiredClaims: z.record(z.string().min(1).max(64), z.string().min(1).max(256)).default({}),
  /** May people log in by device code? Their ID tokens have no nonce, so nothing ties one to who began the login. */
  deviceCode: z.boolean().default(false),
  /** Its keys, for an issuer that has no discovery we can reach, such as a cluster's service accounts. Null: by discovery. */
  jwks: z
    .strictObject({
      keys: z
        .array(z.record(z.string().max(64), z.unknown()))
        .min(1)
        .max(64),
    })
    .refine((jwks) => JSON.stringify(jwks).length <= 8_192, 'the keys are longer than 8192 characters')
    .nullable()
    .default(null),
});
export type Issuer = z.infer<typeof Issuer>;

/** As it is known. */
export const ShownIssuer = Issuer.extend({ revision: Revision.default('') });
export type ShownIssuer = z.infer<typeof ShownIssuer>;

/** What a command has to know to begin a login. */
export const LoginOption = Issuer.pick({
  name: true,
  url: true,
  scopes: true,
  deviceCode: true,
  certificateAuthority: true,
}).extend({ clientId: Issuer.shape.audience });
export type LoginOption = z.infer<typeof LoginOption>;

/** What an exchange gives: a short secret for the API and the doors, and the one that a person's next one is had with. */
export const LoginSecrets = z.object({
  token: z.string().min(1).max(512),
  expiresAt: IsoTime,
  user: UserName,
  /** Told at a person's first login; it stays the same until the session ends. Null: a renewal, or a program. */
  session: z.string().min(1).max(512).nullable(),
  /** No login is renewed after this. Null: a program. */
  sessionEndsAt: IsoTime.nullable(),
});
export type LoginSecrets = z.infer<typeof LoginSecrets>;

/** Somebody who has logged in at least once, as they were then. */
export const KnownUser = z.object({
  id: z.uuid(),
  tenantId: TenantId,
  name: UserName,
  kind: z.enum(['user', 'workload']),
  issuer: TokenName,
  groups: z.array(z.string().min(1).max(256)).max(256),
  firstLoginAt: IsoTime,
  lastLoginAt: IsoTime,
});
export type KnownUser = z.infer<typeof KnownUser>;

/** Which rule decides, for people. */
export const AccessExplanation = z.object({
  allowed: z.boolean(),
  /** Of the grant that decides; null: there is none. */
  grantId: z.uuid().nullable(),
  /** Groups that the request would be sent with: RBAC of the cluster decides then. */
  groups: z.array(z.string()).max(64),
  because: z.string().max(1_024),
});
export type AccessExplanation = z.infer<typeof AccessExplanation>;

const By = z.object({ by: UserName });
const ById = z.object({ id: z.uuid() });
/** Somebody who asks about themselves, as they were authenticated. */
const Self = Principal.pick({ user: true, kind: true, subjectGroups: true });
const page = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item).max(500), next: z.uuid().optional() });

const rpc = rpcOf('access');

/** What the access service answers. */
export const accessRpc = {
  /** Whose token hashes (SHA-256, base64) to this? UNAUTHENTICATED if nobody's. Subject tenant: NO_TENANT. */
  authenticate: rpc('authenticate', ['api'], z.object({ tokenHash: Base64 }), Principal),
  /**
   * Its tokens, logins, issuers, grants, requests and lockdowns are gone, and whoever still has a secret of it is nobody. Subject tenant: the one that
   * was deleted at registration before. Again: no change.
   */
  forgetTenant: rpc('forget-tenant', ['api'], z.object({}), z.object({}), 15_000),
  /** INVALID_ARGUMENT for an end that has passed, or an administrator's grant that is narrowed; QUOTA_EXCEEDED. */
  createGrant: rpc('create-grant', ['api'], NewGrant.extend(By.shape), Grant),
  /** By id; of one subject, or that mean this cluster, if given. `next` is there if there may be more: pass it as `after`. */
  listGrants: rpc(
    'list-grants',
    ['api'],
    z.object({ after: z.uuid().optional(), subject: Subject.optional(), cluster: ClusterName.optional() }),
    page(Grant),
  ),
  /** NOT_FOUND. */
  getGrant: rpc('get-grant', ['api'], ById, Grant),
  /** Those to any subject of somebody (`subjectsOf`), by id; those that have ended are left out. */
  grantsOf: rpc('grants-of', ['api'], Self.extend({ after: z.uuid().optional() }), page(Grant)),
  /**
   * Names of the clusters that a grant of theirs means now, one that allows and is within its time, in order; nobody else's name is told. With `name`,
   * only that one, if it is among them. `next` is there if there may be more.
   */
  clustersOf: rpc(
    'clusters-of',
    ['api'],
    Self.extend({ after: ClusterName.optional(), name: ClusterName.optional() }),
    z.object({ names: z.array(ClusterName).max(MAX_CLUSTER_NAMES), next: ClusterName.optional() }),
  ),
  /** What runs because of it ends within 2 s. NOT_FOUND. */
  deleteGrant: rpc('delete-grant', ['api'], ById.extend(By.shape), z.object({})),
  /** The secret is told this once. ALREADY_EXISTS if one of this name is not revoked; QUOTA_EXCEEDED. */
  createToken: rpc(
    'create-token',
    ['api'],
    z.object({ name: TokenName, expiresAt: IsoTime.nullable(), by: UserName }),
    z.object({ token: ApiToken, secret: z.string().min(32).max(256) }),
  ),
  listTokens: rpc('list-tokens', ['api'], z.object({ after: z.uuid().optional() }), page(ApiToken)),
  /** Again: no change. NOT_FOUND. */
  revokeToken: rpc('revoke-token', ['api'], ById.extend(By.shape), ApiToken),
  /** Anybody who is logged in. */
  requestAccess: rpc(
    'request-access',
    ['api'],
    AccessRequest.pick({ user: true, clusters: true, role: true, narrowing: true, seconds: true, reason: true }),
    AccessRequest,
  ),
  listAccessRequests: rpc(
    'list-access-requests',
    ['api'],
    z.object({ after: z.uuid().optional(), state: AccessRequest.shape.state.optional(), user: UserName.optional() }),
    page(AccessRequest),
  ),
  /** FORBIDDEN for who asked; CONFLICT if it was decided before; NOT_FOUND. */
  decideAccessRequest: rpc(
    'decide-access-request',
    ['api'],
    ById.extend({ by: UserName, approve: z.boolean() }),
    AccessRequest,
  ),
  listLockdowns: rpc('list-lockdowns', ['api'], z.object({}), z.object({ lockdowns: z.array(Lockdown).max(1_000) })),
  /** Again: no change. */
  lockDown: rpc('lock-down', ['api'], Lockdown.omit({ at: true }), Lockdown),
  /** NOT_FOUND if there is none. */
  liftLockdown: rpc(
    'lift-lockdown',
    ['api'],
    z.object({ cluster: ClusterName.nullable(), by: UserName }),
    z.object({}),
  ),
  listIssuers: rpc('list-issuers', ['api'], z.object({}), z.object({ issuers: z.array(ShownIssuer).max(32) })),
  /** NOT_FOUND. */
  getIssuer: rpc('get-issuer', ['api'], z.object({ name: TokenName }), ShownIssuer),
  /**
   * Adds it, or replaces the one of this name; logins by it end if it is changed in more than scopes and `deviceCode`. ALREADY_EXISTS: another tenant's
   * has its name; another one's prefix begins with its own, or the other way round; or its URL and audience. INVALID_ARGUMENT: http to elsewhere than
   * loopback, keys that are none, a workload issuer without required claims. REVISION_CONFLICT.
   */
  putIssuer: rpc('put-issuer', ['api'], Issuer.extend({ ...By.shape, ...ifRevision }), ShownIssuer),
  /** Logins by it end. NOT_FOUND, REVISION_CONFLICT. */
  removeIssuer: rpc('remove-issuer', ['api'], z.object({ name: TokenName, by: UserName, ...ifRevision }), z.object({})),
  /** Where people can log in. */
  listLoginOptions: rpc(
    'list-login-options',
    ['api'],
    z.object({}),
    z.object({ issuers: z.array(LoginOption).max(32) }),
  ),
  /**
   * A short token of ours for one that an issuer signed. A person's ID token is taken once, within 10 minutes of its issue: for a first login with
   * `nonceVerifier`, whose SHA-256 (base64url) is its nonce; without, if it has no nonce and the issuer takes device codes; for a renewal with the hash
   * of the session's secret, of the same issuer and subject. A program's token is taken until it expires. UNAUTHENTICATED, with a reason that tells
   * nothing of its contents; UNAVAILABLE if the issuer's keys cannot be had; RATE_LIMITED. Subject tenant: NO_TENANT.
   */
  exchangeToken: rpc(
    'exchange-token',
    ['api'],
    z.object({
      issuer: TokenName,
      token: z.string().min(1).max(16_384),
      nonceVerifier: z.string().min(32).max(256).optional(),
      sessionHash: Base64.optional(),
    }),
    LoginSecrets,
    10_000,
  ),
  /** Ends the login whose token this is, or the session whose secret hashes to this, with all its tokens. Again: no change. Subject tenant: NO_TENANT. */
  endLogin: rpc(
    'end-login',
    ['api'],
    z.union([z.strictObject({ tokenId: z.uuid() }), z.strictObject({ sessionHash: Base64 })]),
    z.object({}),
  ),
  /** Who has logged in, by id. `next` is there if there may be more: pass it as `after`. */
  listUsers: rpc('list-users', ['api'], z.object({ after: z.uuid().optional() }), page(KnownUser)),
  /**
   * What whoever has this token may do in a cluster now, signed, to be carried beside its secret. It ends with the first grant of theirs that ends. UNAUTHENTICATED;
   * NOT_FOUND for a cluster that is not known, and for one in which they have been granted nothing; FORBIDDEN while it is locked down; TOO_LARGE for more than a
   * statement can say; UNAVAILABLE while `keys` is away. `seconds`: that it opens connections for, at most. Subject tenant: NO_TENANT.
   */
  issueStatement: rpc(
    'issue-statement',
    ['api'],
    z.object({ tokenHash: Base64, cluster: ClusterName, seconds: StatementSeconds.optional() }),
    IssuedStatement,
    15_000,
  ),
  /** How a request of this user would be decided; groups are those of their last login unless given. NOT_FOUND for an unknown cluster. */
  explain: rpc(
    'explain',
    ['api'],
    z.object({
      subject: Subject,
      subjectGroups: z.array(z.string().min(1).max(256)).max(256).optional(),
      cluster: ClusterName,
      verb: z.string().min(1).max(64),
      /** `pods`, `pods/log`, `deployments.apps`, or a path that begins with a slash. */
      resource: z.string().min(1).max(512),
      namespace: z.string().max(253).default(''),
      name: z.string().max(253).default(''),
    }),
    AccessExplanation,
  ),
} as const;
