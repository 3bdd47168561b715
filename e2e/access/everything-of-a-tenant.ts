import { createHash, randomUUID } from 'node:crypto';
import { fluxManifest } from '@fairlead/gitops/testing';
import { createNkey } from '@fairlead/messaging';
import { createCsr, generatePrivateKey } from '@fairlead/pki';
import { eventually } from '@fairlead/testing';
import type { Stack } from '@fairlead/stack';
import { expect } from 'vitest';
import { queryDatabase } from '../support/service-database.js';
import type { AskApi } from './tenant-api.js';

/** One of everything that the admin API can name, in the default tenant. */
export interface Everything {
  /** What stands in a path, by the operation's path. */
  readonly pathOf: Readonly<Record<string, string>>;
  /** What an operation is asked with, by its id. */
  readonly bodyOf: Readonly<Record<string, object>>;
  /** Words that nobody of another tenant may be told. */
  readonly secret: readonly string[];
}

const REASON = { reason: 'a test' };
const CLUSTER = 'of-default';
/** Nobody listens there. */
const HOST = { kind: 'manual', sshHost: '127.0.0.1', sshPort: 9 };
const ISSUER = {
  kind: 'workload',
  url: 'https://login.example.com',
  audience: 'fairlead',
  prefix: 'corp:',
  requiredClaims: { repository: 'org/*' },
};
const BUNDLE = fluxManifest();
const DIGEST = createHash('sha256').update(BUNDLE).digest('hex');
const ASSIGNMENT = {
  selector: { cluster: CLUSTER },
  tool: 'flux',
  bundleVersion: 'v2.7.3',
  repository: null,
};
const SUBSCRIBER = { kind: 'nats', name: 'siem', types: ['grant.*'], publicKey: createNkey().publicKey };

export async function fillTenant(stack: Stack, ask: AskApi): Promise<Everything> {
  const made = async <T>(method: string, path: string, body?: object, raw?: string): Promise<T> => {
    const { status, text, json } = await ask(method, path, body, raw);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return json as T;
  };
  const csr = Buffer.from(await createCsr(await generatePrivateKey())).toString('base64');
  const cluster = await made<{ id: string }>('POST', '/v1/clusters', { name: CLUSTER, gitops: true });
  const { url } = await made<{ url: string }>('POST', `/v1/clusters/${CLUSTER}/import-links`);
  await ask('GET', new URL(url).pathname);
  const { tokens } = await made<{ tokens: { id: string }[] }>('GET', `/v1/clusters/${CLUSTER}/bootstrap-tokens`);
  const bootstrapToken = defined(tokens[0]).id;
  await made('POST', '/v1/clients', { name: 'scraper', clusters: null, csr });
  const apiToken = (await made<{ token: { id: string } }>('POST', '/v1/api-tokens', { name: 'ci', expiresAt: null }))
    .token.id;
  const scope = { clusters: { names: [CLUSTER] }, role: 'view', ...REASON };
  const newGrant = { ...scope, subject: { kind: 'token', name: 'ci' }, expiresAt: null };
  const grant = (await made<{ id: string }>('POST', '/v1/grants', newGrant)).id;
  const asked = { ...scope, narrowing: {}, seconds: 600 };
  const request = (await made<{ id: string }>('POST', '/v1/access-requests', asked)).id;
  await made('PUT', '/v1/issuers/corp', ISSUER);
  await made('PUT', `/v1/clusters/${CLUSTER}/lockdown`, REASON);
  await made('PUT', '/v1/git-hosts/main', HOST);
  await made('POST', '/v1/catalog-repositories', { name: 'catalog', gitHost: 'main', path: 'org/catalog' });
  await made('PUT', `/v1/bundles/flux/v2.7.3?digest=${DIGEST}`, undefined, BUNDLE);
  await made('PUT', '/v1/gitops/assignments/base', ASSIGNMENT);
  await made('POST', '/v1/subscribers', SUBSCRIBER);
  const rollout = await eventually(async () => {
    const { rollouts } = await made<{ rollouts: { id: string; state: string }[] }>('GET', '/v1/gitops/rollouts');
    // Until then it changes by itself.
    expect(rollouts[0]?.state).toBe('done');
    return defined(rollouts[0]).id;
  });
  const enrolment = await waitingAgent(stack);
  const { certificates } = await made<{ certificates: { serial: string }[] }>('GET', '/v1/gateways/certificates');
  const serial = defined(certificates[0]).serial;
  return {
    pathOf: pathsOf({ bootstrapToken, apiToken, grant, request, rollout, enrolment, serial }),
    bodyOf: bodiesOf(csr),
    secret: [cluster.id, bootstrapToken, apiToken, grant, request, enrolment, serial, CLUSTER, 'scraper'],
  };
}

/** What an agent leaves that nobody has decided about; it takes a cluster to have a real one. */
async function waitingAgent(stack: Stack): Promise<string> {
  const id = randomUUID();
  const facts = { agentVersion: '0.1.0', kubernetesVersion: 'v1.34.4', platform: 'linux/amd64' };
  await queryDatabase(
    stack,
    'registration',
    `insert into enrolment_requests
       (id, tenant_id, state, spki_sha256, facts, remote_address, network, created_at, last_asked_at, expires_at)
     values ($1, 'default', 'pending', $2, $3, '192.0.2.1', '192.0.2.1', now(), now(), now() + interval '1 hour')`,
    [id, createHash('sha256').update(id).digest('hex'), facts],
  );
  return id;
}

interface Names extends Record<
  'bootstrapToken' | 'apiToken' | 'grant' | 'request' | 'rollout' | 'enrolment' | 'serial',
  string
> {}

/** By the beginning of an operation's path; the longest one counts. */
function pathsOf(names: Names): Record<string, string> {
  return {
    '/v1/clusters/{name}': `/v1/clusters/${CLUSTER}`,
    '/v1/clusters/{name}/bootstrap-tokens/{id}': `/v1/clusters/${CLUSTER}/bootstrap-tokens/${names.bootstrapToken}`,
    '/v1/audit/entries/{number}': '/v1/audit/entries/1',
    '/v1/certificates/{serial}': `/v1/certificates/${names.serial}`,
    '/v1/clients/{name}': '/v1/clients/scraper',
    '/v1/grants/{id}': `/v1/grants/${names.grant}`,
    '/v1/access-requests/{id}': `/v1/access-requests/${names.request}`,
    '/v1/api-tokens/{id}': `/v1/api-tokens/${names.apiToken}`,
    '/v1/issuers/{name}': '/v1/issuers/corp',
    '/v1/enrolment-requests/{id}': `/v1/enrolment-requests/${names.enrolment}`,
    '/v1/git-hosts/{name}': '/v1/git-hosts/main',
    '/v1/catalog-repositories/{name}': '/v1/catalog-repositories/catalog',
    '/v1/bundles/{tool}/{version}': '/v1/bundles/flux/v2.7.3',
    '/v1/subscribers/{name}': '/v1/subscribers/siem',
    '/v1/gitops/assignments/{name}': '/v1/gitops/assignments/base',
    '/v1/gitops/rollouts/{id}': `/v1/gitops/rollouts/${names.rollout}`,
  };
}

/** Each names what is the default tenant's, where it can. */
function bodiesOf(csr: string): Record<string, object> {
  const scope = { clusters: { names: [CLUSTER] }, role: 'view', ...REASON };
  const policy = { policy: 'token' };
  return {
    createCluster: { name: CLUSTER },
    updateCluster: { labels: { stolen: 'yes' } },
    revokeCluster: REASON,
    revokeCertificate: REASON,
    createClient: { name: 'scraper', clusters: [CLUSTER], csr },
    createGrant: { ...scope, subject: { kind: 'token', name: 'ci' }, expiresAt: null },
    requestAccess: { ...scope, narrowing: {}, seconds: 600 },
    explainAccess: { cluster: CLUSTER, verb: 'get', resource: 'pods', subject: { kind: 'token', name: 'ci' } },
    lockDown: REASON,
    lockDownCluster: REASON,
    createApiToken: { name: 'ci', expiresAt: null },
    putIssuer: ISSUER,
    createCredential: {},
    endSessions: { cluster: CLUSTER },
    approveEnrolment: { cluster: CLUSTER },
    rejectEnrolment: REASON,
    setApprovalPolicy: policy,
    setClusterApprovalPolicy: policy,
    issueIdentity: { csr },
    putGitHost: HOST,
    approveHostKeys: { fingerprints: [`SHA256:${'A'.repeat(43)}`] },
    addCatalogRepository: { name: 'catalog', gitHost: 'main', path: 'org/catalog' },
    importBundle: { url: 'https://127.0.0.1:9/install.yaml', digest: DIGEST },
    putAssignment: ASSIGNMENT,
    createSubscriber: SUBSCRIBER,
    rotateSubscriber: { publicKey: createNkey().publicKey },
    replaySubscriber: { from: { number: 1 } },
    rotateSubscriberSecret: {},
    redeliverDeadLetters: {},
    steerRollout: { step: 'pause' },
  };
}

function defined<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('it is not there');
  return value;
}
