import type { Operation } from './operation.js';
import { CertificateList, CertificatePage, GatewayByName, GatewayRevoked, Revocation } from './schemas.js';

/** What the admin API can do about the identities of gateways, which belong to the installation and to no tenant. */
export const gatewayOperations = {
  listGatewayCertificates: {
    id: 'listGatewayCertificates',
    method: 'GET',
    path: '/v1/gateways/certificates',
    tag: 'certificates',
    summary: 'List the certificates of all gateways',
    description:
      'Their names are SPIFFE ids that end in /gateway/<name>. At most 200 in one answer; `next` is there if there may be more.',
    auth: 'bearer',
    query: CertificatePage,
    answers: [{ kind: 'json', status: 200, description: 'Those that end last first.', schema: CertificateList }],
    errors: [],
  },
  revokeGateway: {
    id: 'revokeGateway',
    method: 'POST',
    path: '/v1/gateways/{name}/revocation',
    tag: 'certificates',
    summary: 'Revoke all certificates of a gateway',
    description:
      'Other gateways and agents refuse them from then on, and what stands between gateways is broken off. Its NATS credential gets new ones: take that away first. At most a thousand at once: while `more` is true, ask again.',
    auth: 'bearer',
    params: GatewayByName,
    body: Revocation,
    answers: [{ kind: 'json', status: 200, description: 'Revoked.', schema: GatewayRevoked }],
    errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
  },
} as const satisfies Record<string, Operation>;
