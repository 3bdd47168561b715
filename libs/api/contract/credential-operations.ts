import type { Operation } from './operation.js';
import {
  BootstrapToken,
  BootstrapTokenById,
  BootstrapTokenList,
  ClusterByName,
  IdentityToIssue,
  IssuedIdentity,
} from './schemas.js';

/** What the admin API can do about what is handed out to agents. */
export const credentialOperations = {
  listBootstrapTokens: {
    id: 'listBootstrapTokens',
    method: 'GET',
    path: '/v1/clusters/{name}/bootstrap-tokens',
    tag: 'clusters',
    summary: 'List the bootstrap tokens of a cluster',
    description: 'Those in its import manifests so far. Their secrets are not kept anywhere, so they are not shown.',
    auth: 'bearer',
    params: ClusterByName,
    answers: [{ kind: 'json', status: 200, description: 'Newest first.', schema: BootstrapTokenList }],
    errors: ['NOT_FOUND'],
  },
  revokeBootstrapToken: {
    id: 'revokeBootstrapToken',
    method: 'POST',
    path: '/v1/clusters/{name}/bootstrap-tokens/{id}/revocation',
    tag: 'clusters',
    summary: 'Revoke a bootstrap token',
    description:
      'Nobody gets an identity by it from then on. Whoever got one before keeps it: to end that too, cut the cluster off. Repeating it does no harm.',
    auth: 'bearer',
    params: BootstrapTokenById,
    answers: [{ kind: 'json', status: 200, description: 'Revoked.', schema: BootstrapToken }],
    errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
  },
  issueIdentity: {
    id: 'issueIdentity',
    method: 'POST',
    path: '/v1/clusters/{name}/identities',
    tag: 'clusters',
    summary: 'Certify a key that is taken to an agent by hand',
    description:
      'A new enrolment of the cluster, without any token: it fences the agent that the cluster had, and unused tokens die. The approval policy is not asked; who may do this is the approval.',
    auth: 'bearer',
    params: ClusterByName,
    body: IdentityToIssue,
    answers: [{ kind: 'json', status: 201, description: 'Certified.', schema: IssuedIdentity }],
    errors: ['NOT_FOUND', 'CSR_INVALID', 'DEADLINE_EXCEEDED'],
  },
} as const satisfies Record<string, Operation>;
