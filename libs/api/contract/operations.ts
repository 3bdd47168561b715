import { z } from 'zod';
import { accessOperations } from './access-operations.js';
import { auditLogOperations } from './audit-log-operations.js';
import { auditOperations } from './audit-operations.js';
import { auditStreamOperations } from './audit-stream-operations.js';
import { approvalOperations } from './approval-operations.js';
import { caOperations } from './ca-operations.js';
import { catalogOperations } from './catalog-operations.js';
import { endpointOperations } from './endpoint-operations.js';
import { gitHostOperations } from './git-host-operations.js';
import { gitopsOperations } from './gitops-operations.js';
import { loginOperations } from './login-operations.js';
import { credentialOperations } from './credential-operations.js';
import { empty, json, operationsOf, text, type Operation } from './operation.js';
import { sessionOperations } from './session-operations.js';
import { subscriberOperations } from './subscriber-operations.js';
import { webhookOperations } from './webhook-operations.js';
import { tenantOperations } from './tenant-operations.js';
import {
  BootstrapToken,
  BootstrapTokenById,
  BootstrapTokenList,
  BootstrapTokenPage,
  CertificateBySerial,
  CertificateList,
  CertificatePage,
  CertificateRecord,
  CertifiedClient,
  ClientByName,
  ClientList,
  ClientPage,
  Cluster,
  ClusterAccess,
  ClusterByName,
  ClusterChange,
  ClusterList,
  ClusterPage,
  GatewayByName,
  GatewayRevoked,
  IdentityToIssue,
  ImportCode,
  ImportLink,
  IssuedIdentity,
  NewClient,
  NewCluster,
  Readiness,
  Revocation,
  Whoami,
} from './schemas.js';

/** Everything that the admin API can do. */
export const operations = {
  ...operationsOf('session', {
    whoami: {
      route: 'GET /v1/whoami',
      summary: 'Tell who the token belongs to',
      auth: 'user',
      answers: [json(200, 'The owner of the token.', Whoami)],
    },
  }),
  ...operationsOf('clusters', {
    createCluster: {
      route: 'POST /v1/clusters',
      summary: 'Register a cluster',
      description: 'Next, make an import link and apply its manifest in the cluster.',
      body: NewCluster,
      etag: true,
      answers: [json(201, 'Registered.', Cluster)],
      errors: ['ALREADY_EXISTS', 'QUOTA_EXCEEDED', 'DEADLINE_EXCEEDED'],
    },
    listClusters: {
      route: 'GET /v1/clusters',
      summary: 'List the clusters',
      auth: 'user',
      description:
        'Of a user, those that a grant means. As many as fit in one answer, or fewer; `next` is there if there may be more. `selector` is a label selector of Kubernetes.',
      query: ClusterPage,
      answers: [json(200, 'Clusters by name.', ClusterList)],
    },
    getCluster: {
      route: 'GET /v1/clusters/{name}',
      summary: 'Show a cluster',
      auth: 'user',
      description: 'To a user, one that no grant of theirs means is not there.',
      params: ClusterByName,
      etag: true,
      answers: [json(200, 'The cluster.', Cluster)],
      errors: ['NOT_FOUND'],
    },
    updateCluster: {
      route: 'PATCH /v1/clusters/{name}',
      summary: 'Change the labels of a cluster, and what its import manifest says',
      description:
        'Of labels, null takes one away; they count at once. Otherwise nothing changes in the cluster until a new import manifest is applied there. Its agent keeps its identity, and needs no token.',
      params: ClusterByName,
      body: ClusterChange,
      etag: true,
      conditional: true,
      answers: [json(200, 'The cluster after it.', Cluster)],
      errors: ['NOT_FOUND', 'REVISION_CONFLICT', 'DEADLINE_EXCEEDED'],
    },
    deleteCluster: {
      route: 'DELETE /v1/clusters/{name}',
      summary: 'Delete a cluster',
      description: 'Its links, tokens and certificates stop working. Nothing in the cluster itself is touched.',
      params: ClusterByName,
      conditional: true,
      answers: [empty('Deleted.')],
      errors: ['NOT_FOUND', 'REVISION_CONFLICT', 'DEADLINE_EXCEEDED'],
    },
    revokeCluster: {
      route: 'POST /v1/clusters/{name}/revocation',
      summary: 'Cut a cluster off',
      description:
        'Every certificate its agent has or could still get, its unused tokens and unfetched import links are worth nothing from then on, and what stands is broken off. A new import manifest brings it back. Repeating it does no harm.',
      params: ClusterByName,
      body: Revocation,
      answers: [json(200, 'Cut off.', Cluster)],
      errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
    },
    listCertificates: {
      route: 'GET /v1/clusters/{name}/certificates',
      tag: 'certificates',
      summary: 'List the certificates of a cluster’s agent',
      description: 'At most 200 in one answer; `next` is there if there may be more.',
      params: ClusterByName,
      query: CertificatePage,
      answers: [json(200, 'Those that end last first.', CertificateList)],
      errors: ['NOT_FOUND'],
    },
    revokeCertificate: {
      route: 'POST /v1/certificates/{serial}/revocation',
      tag: 'certificates',
      summary: 'Revoke one certificate',
      description:
        'Whoever shows it is refused from then on, and what stands on it is broken off. It cannot be undone.',
      params: CertificateBySerial,
      body: Revocation,
      answers: [json(200, 'Revoked.', CertificateRecord)],
      errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
    },
    createImportLink: {
      route: 'POST /v1/clusters/{name}/import-links',
      summary: 'Make a short-lived link to the import manifest',
      description: 'The link works for one GET. Links made before it keep working until they expire.',
      params: ClusterByName,
      answers: [json(201, 'The link, a secret.', ImportLink)],
      errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
    },
    redeemImportLink: {
      route: 'GET /import/{code}',
      summary: 'Fetch an import manifest, once',
      description:
        'Spends the link and mints the bootstrap token in the manifest. Apply it with kubectl. HEAD is refused, and neither it nor a GET that fails spends anything.',
      auth: 'public',
      params: ImportCode,
      answers: [text('The manifest.', 'text/yaml')],
      errors: ['NOT_FOUND', 'GONE', 'DEADLINE_EXCEEDED'],
    },
    clusterAccess: {
      route: 'GET /v1/clusters/{name}/access',
      summary: 'Tell what a kubeconfig needs',
      auth: 'user',
      description: 'To a user, a cluster that no grant of theirs means is not there.',
      params: ClusterByName,
      answers: [json(200, 'Doors and their root.', ClusterAccess)],
      errors: ['NOT_FOUND'],
    },
  }),
  ...operationsOf('clients', {
    createClient: {
      route: 'POST /v1/clients',
      summary: 'Register a client of the CONNECT door and certify its key',
      description:
        'For a client that is known, with the same clusters, it certifies another key: that is how a certificate is renewed.',
      body: NewClient,
      answers: [json(201, 'Certified.', CertifiedClient)],
      errors: ['ALREADY_EXISTS', 'QUOTA_EXCEEDED', 'NOT_FOUND', 'CONFLICT', 'CSR_INVALID', 'DEADLINE_EXCEEDED'],
    },
    listClients: {
      route: 'GET /v1/clients',
      summary: 'List the clients of the CONNECT door',
      description: 'As many as fit in one answer; `next` is there if there are more.',
      query: ClientPage,
      answers: [json(200, 'Clients by name.', ClientList)],
    },
    deleteClient: {
      route: 'DELETE /v1/clients/{name}',
      summary: 'Delete a client',
      description: 'Its certificates are worth nothing from then on.',
      params: ClientByName,
      answers: [empty('Deleted.')],
      errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
    },
  }),
  ...accessOperations,
  ...credentialOperations,
  ...loginOperations,
  ...sessionOperations,
  ...auditLogOperations,
  ...auditOperations,
  ...auditStreamOperations,
  ...subscriberOperations,
  ...webhookOperations,
  ...tenantOperations,
  ...approvalOperations,
  ...caOperations,
  ...endpointOperations,
  ...operationsOf('clusters', {
    listBootstrapTokens: {
      route: 'GET /v1/clusters/{name}/bootstrap-tokens',
      summary: 'List the bootstrap tokens of a cluster',
      description: 'Those in its import manifests so far. Their secrets are not kept anywhere, so they are not shown.',
      params: ClusterByName,
      query: BootstrapTokenPage,
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
  }),
  ...gitHostOperations,
  ...catalogOperations,
  ...gitopsOperations,
  ...operationsOf('certificates', {
    listGatewayCertificates: {
      route: 'GET /v1/gateways/certificates',
      summary: 'List the certificates of all gateways',
      auth: 'installation',
      description:
        'Their names are SPIFFE ids that end in /gateway/<name>. At most 200 in one answer; `next` is there if there may be more.',
      query: CertificatePage,
      answers: [json(200, 'Those that end last first.', CertificateList)],
    },
    revokeGateway: {
      route: 'POST /v1/gateways/{name}/revocation',
      summary: 'Revoke all certificates of a gateway',
      auth: 'installation',
      description:
        'Other gateways and agents refuse them from then on, and what stands between gateways is broken off. Its NATS credential gets new ones: take that away first. At most a thousand at once: while `more` is true, ask again.',
      params: GatewayByName,
      body: Revocation,
      answers: [json(200, 'Revoked.', GatewayRevoked)],
      errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
    },
  }),
  ...operationsOf('meta', {
    openapi: {
      route: 'GET /openapi.json',
      summary: 'This description',
      auth: 'public',
      answers: [json(200, 'OpenAPI 3.1.', z.looseObject({ openapi: z.string() }))],
    },
    health: {
      route: 'GET /healthz',
      summary: 'Does the process answer?',
      auth: 'public',
      answers: [text('It does.', 'text/plain')],
    },
    readiness: {
      route: 'GET /readyz',
      summary: 'Can the process do its work?',
      auth: 'public',
      answers: [json(200, 'It can.', Readiness), json(503, 'It cannot, for these reasons.', Readiness)],
    },
  }),
} as const;

export const ALL_OPERATIONS: readonly Operation[] = Object.values(operations);
