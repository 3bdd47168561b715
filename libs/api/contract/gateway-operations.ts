import { json, operationsOf } from './operation.js';
import { CertificateList, CertificatePage, GatewayByName, GatewayRevoked, Revocation } from './schemas.js';

/** What the admin API can do about the identities of gateways, which belong to the installation and to no tenant. */
export const gatewayOperations = operationsOf('certificates', {
  listGatewayCertificates: {
    route: 'GET /v1/gateways/certificates',
    summary: 'List the certificates of all gateways',
    description:
      'Their names are SPIFFE ids that end in /gateway/<name>. At most 200 in one answer; `next` is there if there may be more.',
    query: CertificatePage,
    answers: [json(200, 'Those that end last first.', CertificateList)],
  },
  revokeGateway: {
    route: 'POST /v1/gateways/{name}/revocation',
    summary: 'Revoke all certificates of a gateway',
    description:
      'Other gateways and agents refuse them from then on, and what stands between gateways is broken off. Its NATS credential gets new ones: take that away first. At most a thousand at once: while `more` is true, ask again.',
    params: GatewayByName,
    body: Revocation,
    answers: [json(200, 'Revoked.', GatewayRevoked)],
    errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
  },
});
