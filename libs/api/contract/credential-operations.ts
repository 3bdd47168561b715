import { json, operationsOf } from './operation.js';
import {
  BootstrapToken,
  BootstrapTokenById,
  BootstrapTokenList,
  ClusterByName,
  IdentityToIssue,
  IssuedIdentity,
} from './schemas.js';

/** What the admin API can do about what is handed out to agents. */
export const credentialOperations = operationsOf('clusters', {
  listBootstrapTokens: {
    route: 'GET /v1/clusters/{name}/bootstrap-tokens',
    summary: 'List the bootstrap tokens of a cluster',
    description: 'Those in its import manifests so far. Their secrets are not kept anywhere, so they are not shown.',
    params: ClusterByName,
    answers: [json(200, 'Newest first.', BootstrapTokenList)],
    errors: ['NOT_FOUND'],
  },
  revokeBootstrapToken: {
    route: 'POST /v1/clusters/{name}/bootstrap-tokens/{id}/revocation',
    summary: 'Revoke a bootstrap token',
    description:
      'Nobody gets an identity by it from then on. Whoever got one before keeps it: to end that too, cut the cluster off. Repeating it does no harm.',
    params: BootstrapTokenById,
    answers: [json(200, 'Revoked.', BootstrapToken)],
    errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
  },
  issueIdentity: {
    route: 'POST /v1/clusters/{name}/identities',
    summary: 'Certify a key that is taken to an agent by hand',
    description:
      'A new enrolment of the cluster, without any token: it fences the agent that the cluster had, and unused tokens die. The approval policy is not asked; who may do this is the approval.',
    params: ClusterByName,
    body: IdentityToIssue,
    answers: [json(201, 'Certified.', IssuedIdentity)],
    errors: ['NOT_FOUND', 'CSR_INVALID', 'DEADLINE_EXCEEDED'],
  },
});
