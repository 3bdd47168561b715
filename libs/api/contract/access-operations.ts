import {
  AccessExplanation,
  AccessRequest,
  ApiToken,
  ClusterName,
  Grant,
  Issuer as IssuerFields,
  ShownIssuer as Issuer,
  KnownUser,
  Lockdown,
  NewGrant as GrantSaid,
  Subject,
  TokenName,
  accessRpc,
} from '@fairlead/contracts';
import { z } from 'zod';
import { empty, json, operationsOf } from './operation.js';
import { ClusterByName } from './schemas.js';

export { AccessExplanation, AccessRequest, ApiToken, Grant, Issuer, KnownUser, Lockdown };

const ById = z.strictObject({ id: z.uuid() });
const Page = z.strictObject({ after: z.uuid().optional() });
const next = z.uuid().optional().describe('There may be more: ask again with it as `after`, and the same filters.');

export const NewGrant = GrantSaid.describe(
  'Who may do what in which clusters, until when, and why. A role of null gives only `groups`, which the clusters bind themselves. To a client of the CONNECT door a grant says `targets` alone.',
);
/** `user/corp:alice`: a query has no fields. */
const SubjectText = z
  .string()
  .max(300)
  .regex(
    /^(user|group|workload|token|client)\/./s,
    'write a subject as user/NAME, group/NAME, workload/NAME, token/NAME or client/NAME',
  )
  .transform((text) => ({ kind: text.slice(0, text.indexOf('/')), name: text.slice(text.indexOf('/') + 1) }))
  .pipe(Subject)
  .describe('Only grants to this subject: user/NAME, group/NAME, workload/NAME, token/NAME or client/NAME.');
const GrantPage = Page.extend({
  subject: SubjectText.optional(),
  cluster: ClusterName.optional().describe('Only grants that mean this cluster.'),
});
export const GrantList = z.object({ grants: z.array(Grant).max(500), next });

export const NewAccessRequest = accessRpc.requestAccess.input
  .omit({ user: true })
  .strict()
  .describe('What somebody asks for themselves. It counts from its approval on, for so many seconds.');
const AccessRequestPage = Page.extend({ state: AccessRequest.shape.state.optional() });
export const AccessRequestList = z.object({ requests: z.array(AccessRequest).max(500), next });

export const AccessQuestion = accessRpc.explain.input
  .omit({ subject: true, subjectGroups: true })
  .extend({
    subject: Subject.optional().describe('Whose access; left out: that of whoever asks.'),
    groups: accessRpc.explain.input.shape.subjectGroups.describe('As if these were their groups at the issuer.'),
  })
  .strict()
  .describe('One request of somebody to a cluster.');

export const Lock = Lockdown.pick({ reason: true }).strict().describe('Why: it is shown to whoever is kept out.');
export const LockdownList = z.object({ lockdowns: z.array(Lockdown).max(1_000) });

export const NewApiToken = z
  .strictObject({ name: TokenName, expiresAt: ApiToken.shape.expiresAt.describe('Null: until it is revoked.') })
  .describe('An API token, which may do nothing before it is granted something.');
export const ApiTokenList = z.object({ tokens: z.array(ApiToken).max(500), next });
export const CreatedApiToken = z.object({
  token: ApiToken,
  secret: z.string().describe('Shown this once; only its hash is kept.'),
});

const IssuerByName = z.strictObject({ name: TokenName });
export const IssuerToPut = IssuerFields.omit({ name: true }).describe('An issuer as it is to be.');
export const UserList = z.object({ users: z.array(KnownUser).max(500), next });
export const IssuerList = z.object({ issuers: z.array(Issuer).max(32) });

const NO_ISSUER = 'see which there are: fairlead issuer list';
const NO_GRANT = 'see which grants there are: fairlead grant list';
const NO_REQUEST = 'see who asks: fairlead access requests';
const NO_CLUSTER = 'check the name with: fairlead cluster list';
const NOT_LOCKED = 'see what is locked down: fairlead access lockdowns';

const grantOperations = operationsOf('grants', {
  createGrant: {
    route: 'POST /v1/grants',
    summary: 'Grant somebody something',
    description:
      'It counts at every door within two seconds. The role `administrator` takes all clusters and no narrowing.',
    body: NewGrant,
    answers: [json(201, 'Granted.', Grant)],
    errors: ['TOO_LARGE', 'QUOTA_EXCEEDED', 'DEADLINE_EXCEEDED'],
    next: { TOO_LARGE: 'this subject has as many grants as doors take: take some back, or grant it to a group' },
  },
  listGrants: {
    route: 'GET /v1/grants',
    summary: 'List the grants',
    description: 'Those that have not ended, by id, at most 500 in one answer; `next` is there if there may be more.',
    query: GrantPage,
    answers: [json(200, 'Grants.', GrantList)],
    errors: ['NOT_FOUND'],
    next: { NOT_FOUND: NO_CLUSTER, FORBIDDEN: 'see what is granted to you: fairlead grant list --mine' },
  },
  getGrant: {
    route: 'GET /v1/grants/{id}',
    summary: 'Show a grant',
    params: ById,
    answers: [json(200, 'The grant.', Grant)],
    errors: ['NOT_FOUND'],
    next: { NOT_FOUND: NO_GRANT },
  },
  deleteGrant: {
    route: 'DELETE /v1/grants/{id}',
    summary: 'Take a grant back',
    description: 'What runs because of it ends within two seconds.',
    params: ById,
    answers: [empty('Taken back.')],
    errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
    next: { NOT_FOUND: NO_GRANT },
  },
  listMyGrants: {
    route: 'GET /v1/users/me/grants',
    summary: 'List what is granted to whoever asks',
    auth: 'user',
    description: 'To them by name, or to a group of theirs. Those that have ended are left out.',
    query: Page,
    answers: [json(200, 'Their grants.', GrantList)],
  },
});

const requestOperations = operationsOf('access-requests', {
  requestAccess: {
    route: 'POST /v1/access-requests',
    summary: 'Ask for access for a time',
    auth: 'user',
    description: 'Somebody else decides. It lapses if nobody does within a day.',
    body: NewAccessRequest,
    answers: [json(201, 'Asked.', AccessRequest)],
    errors: ['CONFLICT', 'DEADLINE_EXCEEDED'],
  },
  listAccessRequests: {
    route: 'GET /v1/access-requests',
    summary: 'List who asks for access',
    query: AccessRequestPage,
    answers: [json(200, 'Access requests.', AccessRequestList)],
    next: { FORBIDDEN: 'see what you asked for: fairlead access requests --mine' },
  },
  listMyAccessRequests: {
    route: 'GET /v1/users/me/access-requests',
    summary: 'List what whoever asks this has asked for',
    auth: 'user',
    query: AccessRequestPage,
    answers: [json(200, 'Their access requests.', AccessRequestList)],
  },
  approveAccessRequest: {
    route: 'POST /v1/access-requests/{id}/approval',
    summary: 'Approve an access request',
    description: 'The grant that is asked for begins now.',
    params: ById,
    answers: [json(200, 'Approved.', AccessRequest)],
    errors: ['NOT_FOUND', 'CONFLICT', 'TOO_LARGE', 'QUOTA_EXCEEDED', 'DEADLINE_EXCEEDED'],
    next: { NOT_FOUND: NO_REQUEST, FORBIDDEN: 'let another administrator decide about it' },
  },
  rejectAccessRequest: {
    route: 'POST /v1/access-requests/{id}/rejection',
    summary: 'Reject an access request',
    params: ById,
    answers: [json(200, 'Rejected.', AccessRequest)],
    errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
    next: { NOT_FOUND: NO_REQUEST, FORBIDDEN: 'let another administrator decide about it' },
  },
});

const controlOperations = operationsOf('access', {
  explainAccess: {
    route: 'POST /v1/access/explanation',
    summary: 'Tell which grant decides about a request to a cluster',
    auth: 'user',
    description:
      'It changes nothing. Users ask about themselves and their clusters. Where it is allowed, RBAC of the cluster decides next, by the groups in the answer.',
    body: AccessQuestion,
    answers: [json(200, 'How it would be decided.', AccessExplanation)],
    errors: ['NOT_FOUND'],
    next: { NOT_FOUND: `${NO_CLUSTER}; or ask for access to it: fairlead access request --help` },
  },
  listLockdowns: {
    route: 'GET /v1/lockdowns',
    summary: 'List what is locked down',
    answers: [json(200, 'All of it.', LockdownList)],
  },
  lockDown: {
    route: 'PUT /v1/lockdown',
    summary: 'Lock down every cluster',
    description:
      'Nobody gets into any cluster of the tenant but with an administrator token of the installation; what stands ends within two seconds. Repeating it does no harm.',
    body: Lock,
    answers: [json(200, 'Locked down.', Lockdown)],
    errors: ['DEADLINE_EXCEEDED'],
  },
  liftLockdown: {
    route: 'DELETE /v1/lockdown',
    summary: 'Lift the lockdown of every cluster',
    description: 'Those of single clusters stay.',
    answers: [empty('Lifted.')],
    errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
    next: { NOT_FOUND: NOT_LOCKED },
  },
  lockDownCluster: {
    route: 'PUT /v1/clusters/{name}/lockdown',
    summary: 'Lock down a cluster',
    description: 'As for every cluster, of one.',
    params: ClusterByName,
    body: Lock,
    answers: [json(200, 'Locked down.', Lockdown)],
    errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
    next: { NOT_FOUND: NO_CLUSTER },
  },
  liftClusterLockdown: {
    route: 'DELETE /v1/clusters/{name}/lockdown',
    summary: 'Lift the lockdown of a cluster',
    description: 'That of every cluster stays.',
    params: ClusterByName,
    answers: [empty('Lifted.')],
    errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
    next: { NOT_FOUND: NOT_LOCKED },
  },
});

const credentialOperations = operationsOf('api-tokens', {
  createApiToken: {
    route: 'POST /v1/api-tokens',
    summary: 'Make an API token',
    description: 'It is the user `token:<name>` in clusters, and may do nothing before it is granted something.',
    body: NewApiToken,
    answers: [json(201, 'Made. The secret is shown this once.', CreatedApiToken)],
    errors: ['ALREADY_EXISTS', 'QUOTA_EXCEEDED', 'DEADLINE_EXCEEDED'],
    next: { ALREADY_EXISTS: 'choose another name, or revoke the one that is there: fairlead api-token revoke NAME' },
  },
  listApiTokens: {
    route: 'GET /v1/api-tokens',
    summary: 'List the API tokens',
    description: 'Those that were revoked, too. Their secrets are kept nowhere.',
    query: Page,
    answers: [json(200, 'API tokens.', ApiTokenList)],
  },
  revokeApiToken: {
    route: 'POST /v1/api-tokens/{id}/revocation',
    summary: 'Revoke an API token',
    description:
      'What runs with it ends within two seconds; another replica of the API takes it for up to ten. Repeating it does no harm.',
    params: ById,
    answers: [json(200, 'Revoked.', ApiToken)],
    errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
    next: { NOT_FOUND: 'see which there are: fairlead api-token list' },
  },
  listUsers: {
    route: 'GET /v1/users',
    tag: 'users',
    summary: 'List who has logged in by an issuer',
    description:
      'People and programs, by id, with their groups at their last login. At most 500 in one answer; `next` is there if there may be more.',
    query: Page,
    answers: [json(200, 'Users.', UserList)],
  },
  listIssuers: {
    route: 'GET /v1/issuers',
    tag: 'issuers',
    summary: 'List the issuers',
    description: 'Where people log in, and whose tokens of programs are taken.',
    answers: [json(200, 'All of them.', IssuerList)],
  },
  getIssuer: {
    route: 'GET /v1/issuers/{name}',
    tag: 'issuers',
    summary: 'Show an issuer',
    params: IssuerByName,
    etag: true,
    answers: [json(200, 'The issuer.', Issuer)],
    errors: ['NOT_FOUND'],
    next: { NOT_FOUND: NO_ISSUER },
  },
  putIssuer: {
    route: 'PUT /v1/issuers/{name}',
    tag: 'issuers',
    summary: 'Make or change an issuer',
    description: 'No two issuers have the same prefix, so that none can name a user of another.',
    params: IssuerByName,
    body: IssuerToPut,
    etag: true,
    conditional: true,
    answers: [json(200, 'The issuer after it.', Issuer)],
    errors: ['ALREADY_EXISTS', 'REVISION_CONFLICT', 'UNTRUSTED_PEER', 'DEADLINE_EXCEEDED'],
    next: { ALREADY_EXISTS: 'choose another prefix; see which are taken: fairlead issuer list' },
  },
  removeIssuer: {
    route: 'DELETE /v1/issuers/{name}',
    tag: 'issuers',
    summary: 'Forget an issuer',
    description: 'Logins by it end. Grants to its users and groups stay, and mean nobody until it is back.',
    params: IssuerByName,
    conditional: true,
    answers: [empty('Forgotten.')],
    errors: ['NOT_FOUND', 'REVISION_CONFLICT', 'DEADLINE_EXCEEDED'],
    next: { NOT_FOUND: NO_ISSUER },
  },
});

/** What the admin API can do about who may do what. */
export const accessOperations = {
  ...grantOperations,
  ...requestOperations,
  ...controlOperations,
  ...credentialOperations,
} as const;
