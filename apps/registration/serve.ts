import { NO_TENANT, keysRpc, type TrustBundle } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { Projection } from '@fairlead/events';
import { createRpcClient } from '@fairlead/messaging';
import {
  ApprovalPolicies,
  ApprovalWebhook,
  BootstrapTokens,
  Clients,
  Clusters,
  EnrolmentRequests,
  Enrolments,
  ImportLinks,
  LinkProblems,
  REGISTRATION_BUCKETS,
  REGISTRATION_ENTITIES,
  REGISTRATION_MIGRATIONS,
  RegistrationModule,
  OpenPassages,
  ReportedFacts,
  StaticIdentities,
  Tenants,
  meterEnrolments,
  reportDuplicate,
  watchPresence,
  type PresenceOf,
  type RegistrationParts,
  type Runtime,
  type SignAgent,
  type StaticIdentitiesOptions,
  type WebhookOptions,
} from '@fairlead/registration';
import type { NatsConnection, RpcModule, ServiceDefinition, ServiceHost } from '@fairlead/service';
import { readConfig, type Config } from './config.js';

export const registration: ServiceDefinition<Config> = {
  role: 'registration',
  entities: REGISTRATION_ENTITIES,
  migrations: REGISTRATION_MIGRATIONS,
  readConfig,
  prepare(config) {
    let projection: Projection | undefined;
    return {
      readiness: () => [{ name: 'projection', ok: projection?.synced === true }],
      start(host) {
        projection = host.project(REGISTRATION_BUCKETS);
        return start(config, host);
      },
    };
  },
};

function start(config: Config, host: ServiceHost): RpcModule {
  const { database, source, logger, onCommitted, nats, registry } = host;
  const runtime: Runtime = { database, source, logger, onCommitted, now: () => new Date() };
  const presence = host.use(watchPresence(nats, logger, (crowd) => reportDuplicate(runtime, crowd)));
  const parts = build(config, nats, runtime, { ...presence, onEnrolled: meterEnrolments(registry) });
  return RegistrationModule.around(parts);
}

interface Beside {
  readonly presenceOf: PresenceOf;
  readonly gateways: () => readonly string[];
  readonly onEnrolled: ReturnType<typeof meterEnrolments>;
}

function build(config: Config, nats: NatsConnection, runtime: Runtime, beside: Beside): RegistrationParts {
  const client = createRpcClient(nats, runtime.source);
  const requests = new EnrolmentRequests(runtime);
  const linkProblems = new LinkProblems(runtime);
  const webhookOptions = webhookOf(config);
  const policies = new ApprovalPolicies(runtime, {
    policy: config.FAIRLEAD_APPROVAL_POLICY,
    webhookConfigured: webhookOptions !== null,
    insecureAllowed: config.FAIRLEAD_INSECURE_ALLOW_ALWAYS_APPROVE,
  });
  const webhook = new ApprovalWebhook(runtime, policies, requests, webhookOptions);
  const trustBundle = (): Promise<TrustBundle> => client.call(keysRpc.trustBundle, NO_TENANT, {});
  const signAgent: SignAgent = (tenantId, request) => client.call(keysRpc.signAgent, tenantId, request);
  const endpoints = config.FAIRLEAD_LINK_ENDPOINTS;
  const importLinks = new ImportLinks(runtime, {
    endpoints,
    image: config.FAIRLEAD_AGENT_IMAGE,
    installerImage: config.FAIRLEAD_INSTALLER_IMAGE,
    serverName: config.FAIRLEAD_AGENT_SERVER_NAME,
    tracingEndpoint: config.FAIRLEAD_AGENT_TRACING_ENDPOINT,
    linkTtlSeconds: config.FAIRLEAD_IMPORT_LINK_TTL_SECONDS,
    tokenTtlSeconds: config.FAIRLEAD_BOOTSTRAP_TOKEN_TTL_SECONDS,
    trustBundle,
  });
  const manifestFor: StaticIdentitiesOptions['manifestFor'] = (...of) => importLinks.manifestWithoutToken(...of);
  return {
    clusters: new Clusters(runtime, beside.presenceOf, (tenantId, request) =>
      client.call(keysRpc.revokeGenerations, tenantId, request),
    ),
    importLinks,
    requests,
    policies,
    enrolments: new Enrolments(runtime, { policies, requests, webhook, linkProblems }, signAgent, beside.onEnrolled),
    linkProblems,
    facts: new ReportedFacts(runtime),
    passages: new OpenPassages({ rpc: client, gateways: beside.gateways, logger: runtime.logger }),
    bootstrapTokens: new BootstrapTokens(runtime),
    staticIdentities: new StaticIdentities(runtime, { endpoints, signAgent, trustBundle, manifestFor }),
    tenants: new Tenants(runtime),
    clients: new Clients(runtime, (tenantId, request) => client.call(keysRpc.signClient, tenantId, request)),
  };
}

/** INVALID_ARGUMENT for one half of it without the other. */
function webhookOf(config: Config): WebhookOptions | null {
  const { FAIRLEAD_APPROVAL_WEBHOOK_URL: url, FAIRLEAD_APPROVAL_WEBHOOK_SECRET_FILE: secret } = config;
  if (url && secret) return { url, secret: secret.reveal() };
  if (!url && !secret && config.FAIRLEAD_APPROVAL_POLICY !== 'webhook') return null;
  throw new FairleadError(
    'INVALID_ARGUMENT',
    'the policy webhook needs FAIRLEAD_APPROVAL_WEBHOOK_URL and FAIRLEAD_APPROVAL_WEBHOOK_SECRET_FILE together',
  );
}
