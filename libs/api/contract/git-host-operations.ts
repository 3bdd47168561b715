import { DeployKey, GitHost, GitHostName, PutGitHost, gitKeysRpc } from '@fairlead/contracts';
import { z } from 'zod';
import { empty, json, operationsOf } from './operation.js';
import { ClusterByName } from './schemas.js';

export { DeployKey, GitHost };

const GitHostByName = z.strictObject({ name: GitHostName });
export const GitHostToPut = PutGitHost.omit({ name: true })
  .strict()
  .describe('A Git host as it is to be. Its token goes in here, is sealed, and is never shown again.');
export const GitHostList = z.object({ hosts: z.array(GitHost).max(64).describe('By name.') });
export type GitHostList = z.infer<typeof GitHostList>;
export const HostKeyApproval = gitKeysRpc.approveHostKeys.input
  .pick({ fingerprints: true, keys: true })
  .strict()
  .describe('All the keys that clusters are to trust: one that was trusted and is not named here is withdrawn.');
const DeployKeyPage = z.strictObject({ after: z.string().min(1).max(128).optional() });
export const DeployKeyList = z.object({
  keys: z.array(DeployKey).max(500),
  next: z.string().max(128).optional().describe('There are more: ask again with it as `after`.'),
});
export type DeployKeyList = z.infer<typeof DeployKeyList>;

/** A Git host itself is asked: this is above all its own deadlines. */
export const HOST_ANSWER_MS = 85_000;

const shown = json(200, 'The Git host after it.', GitHost);
const UNKNOWN = 'see which Git hosts there are: fairlead git-host list';

/** What the admin API can do about Git hosts. Tokens go in and never come out. */
export const gitHostOperations = operationsOf('git-hosts', {
  listGitHosts: {
    route: 'GET /v1/git-hosts',
    summary: 'List the Git hosts',
    answers: [json(200, 'All of them.', GitHostList)],
  },
  getGitHost: {
    route: 'GET /v1/git-hosts/{name}',
    summary: 'Show a Git host, its host keys and what its token may do',
    params: GitHostByName,
    etag: true,
    answers: [{ ...shown, description: 'The Git host.' }],
    errors: ['NOT_FOUND'],
    next: { NOT_FOUND: UNKNOWN },
  },
  putGitHost: {
    route: 'PUT /v1/git-hosts/{name}',
    summary: 'Make or change a Git host',
    description:
      'The rights of its token are checked at the host first; if one is missing, nothing is stored. Without `token`, the one that is there stays.',
    params: GitHostByName,
    body: GitHostToPut,
    etag: true,
    conditional: true,
    answers: [shown],
    errors: [
      'CONFLICT',
      'REVISION_CONFLICT',
      'GIT_TOKEN_REFUSED',
      'GIT_RIGHTS_MISSING',
      'UNTRUSTED_PEER',
      'DEADLINE_EXCEEDED',
    ],
    next: {
      GIT_TOKEN_REFUSED:
        'make a new token at the Git host, with the rights that docs/gitops.md names, and give that one',
      GIT_RIGHTS_MISSING: 'give the token these rights at the Git host (docs/gitops.md), then try again',
      UNTRUSTED_PEER: 'check the address; for a private authority, give its certificate with --ca-file',
    },
    answersWithinMs: HOST_ANSWER_MS,
  },
  deleteGitHost: {
    route: 'DELETE /v1/git-hosts/{name}',
    summary: 'Forget a Git host and its token',
    description: 'Refused while a catalog repository or a deploy key needs it.',
    params: GitHostByName,
    conditional: true,
    answers: [empty('Forgotten.')],
    errors: ['NOT_FOUND', 'CONFLICT', 'REVISION_CONFLICT', 'DEADLINE_EXCEEDED'],
    next: {
      NOT_FOUND: UNKNOWN,
      CONFLICT: 'remove what needs it first: fairlead gitops unassign, then fairlead catalog rm',
    },
  },
  scanHostKeys: {
    route: 'POST /v1/git-hosts/{name}/host-keys/scan',
    summary: 'Ask a Git host for its SSH keys',
    description: 'Those that are new are proposed. Nothing trusts them before they are approved.',
    params: GitHostByName,
    answers: [shown],
    errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
    next: { NOT_FOUND: UNKNOWN },
    answersWithinMs: HOST_ANSWER_MS,
  },
  approveHostKeys: {
    route: 'POST /v1/git-hosts/{name}/host-keys/approval',
    summary: 'Say which SSH keys of a Git host are trusted',
    description: 'Once for all clusters: they learn it with their next desired state.',
    params: GitHostByName,
    body: HostKeyApproval,
    answers: [shown],
    errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
    next: { NOT_FOUND: 'see the keys it shows: fairlead git-host scan NAME; or give the key itself with --key' },
  },
  listDeployKeys: {
    route: 'GET /v1/clusters/{name}/gitops/deploy-keys',
    tag: 'gitops',
    summary: 'List the deploy keys of a cluster',
    description: 'Where somebody has to add one by hand, `instructions` say how.',
    params: ClusterByName,
    query: DeployKeyPage,
    answers: [json(200, 'The keys.', DeployKeyList)],
    errors: ['NOT_FOUND'],
  },
});
