import type { Operation } from './operation.js';
import { BootstrapToken, BootstrapTokenById, BootstrapTokenList, ClusterByName } from './schemas.js';

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
} as const satisfies Record<string, Operation>;
