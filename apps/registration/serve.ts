import { splitHostPort, untilAborted } from '@fairlead/config';
import { NO_TENANT, keysRpc, type Caller, type TrustBundle } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { OutboxRelay, Projection, recordForgedRequest } from '@fairlead/events';
import { connectNats, connectionState, createRpcClient, serveRpc, type ConnectNatsOptions } from '@fairlead/messaging';
import { Registry, startHealthServer, type Check, type Logger } from '@fairlead/observability';
import { DatabaseMonitor, connectDatabase, createDatabase, retryWhileAway, runMigrations } from '@fairlead/persistence';
import {
  ApiTokens,
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
  ReportedFacts,
  StaticIdentities,
  checkAdminToken,
  reportDuplicate,
  watchPresence,
  type PresenceOf,
  type RegistrationParts,
  type Runtime,
  type SignAgent,
  type StaticIdentitiesOptions,
  type WebhookOptions,
} from '@fairlead/registration';
import type { Config } from './config.js';

const ROLE = 'registration';

type Database = ReturnType<typeof createDatabase>;
type Nats = Awaited<ReturnType<typeof connectNats>>;

/** Runs what is missing of the schema. */
export async function migrate(config: Config, logger: Logger, signal: AbortSignal): Promise<void> {
  const database = openDatabase(config, logger);
  await connectDatabase(database, logger, signal);
  try {
    await runMigrations(database, logger, signal);
  } finally {
    await database.destroy();
  }
}

/** Serves until the signal; waits, visibly, for whatever is away at first. */
export async function serve(config: Config, logger: Logger, signal: AbortSignal): Promise<void> {
  checkAdminToken(config.FAIRLEAD_ADMIN_TOKEN_FILE.reveal());
  await using stack = new AsyncDisposableStack();
  const checks: (() => readonly Check[])[] = [];
  const registry = new Registry();
  stack.use(await startHealth(config, registry, () => checks.flatMap((check) => check())));
  let projection: Projection | undefined;
  checks.push(() => [{ name: 'projection', ok: projection?.synced === true }]);

  const source: Caller = { role: ROLE, credential: config.FAIRLEAD_CREDENTIAL };
  // Refuses a URL that nobody could connect with safely, before anything is waited for.
  const database = openDatabase(config, logger);
  const nats = stack.adopt(await connectNats({ ...natsOf(config), ...source, logger, signal }), (nc) => nc.close());
  checks.push(() => [{ name: 'nats', ok: connectionState(nats).connected }]);
  await connectDatabase(database, logger, signal);
  stack.defer(() => database.destroy());
  const monitor = stack.use(new DatabaseMonitor(database, logger));
  checks.push(() => monitor.checks());
  await monitor.untilMigrated(signal);

  const relay = stack.use(new OutboxRelay({ database, nats, logger }));
  projection = stack.use(new Projection({ database, nats, logger, buckets: REGISTRATION_BUCKETS }));
  const onCommitted = (): void => {
    relay.poke();
    projection?.poke();
  };
  const runtime: Runtime = { database, source, logger, onCommitted, now: () => new Date() };
  const { presenceOf } = stack.use(watchPresence(nats, logger, (crowd) => reportDuplicate(runtime, crowd)));
  const parts = build(config, nats, runtime, presenceOf);
  await retryWhileAway(() => parts.apiTokens.setAdminToken(config.FAIRLEAD_ADMIN_TOKEN_FILE.reveal()), logger, signal);
  const onForged = (subject: string): void => recordForgedRequest({ database, source, logger, relay }, subject);
  stack.use(
    await serveRpc(RegistrationModule.around(parts), { connection: nats, queue: ROLE, logger, registry, onForged }),
  );
  logger.info('process.ready');
  await untilAborted(signal);
  logger.info('process.stopping');
}

function build(config: Config, nats: Nats, runtime: Runtime, presenceOf: PresenceOf): RegistrationParts {
  const client = createRpcClient(nats, runtime.source);
  const requests = new EnrolmentRequests(runtime);
  const troubles = new LinkProblems(runtime);
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
    tracingEndpoint: config.FAIRLEAD_AGENT_TRACING_ENDPOINT,
    linkTtlSeconds: config.FAIRLEAD_IMPORT_LINK_TTL_SECONDS,
    tokenTtlSeconds: config.FAIRLEAD_BOOTSTRAP_TOKEN_TTL_SECONDS,
    trustBundle,
  });
  const manifestFor: StaticIdentitiesOptions['manifestFor'] = (...of) => importLinks.manifestWithoutToken(...of);
  return {
    clusters: new Clusters(runtime, presenceOf, (tenantId, request) =>
      client.call(keysRpc.revokeGenerations, tenantId, request),
    ),
    importLinks,
    requests,
    policies,
    enrolments: new Enrolments(runtime, { policies, requests, webhook, troubles }, signAgent),
    troubles,
    facts: new ReportedFacts(runtime),
    apiTokens: new ApiTokens(runtime),
    bootstrapTokens: new BootstrapTokens(runtime),
    staticIdentities: new StaticIdentities(runtime, { endpoints, signAgent, trustBundle, manifestFor }),
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

function natsOf(config: Config): Omit<ConnectNatsOptions, 'role' | 'credential' | 'logger'> {
  return {
    url: config.FAIRLEAD_NATS_URL,
    seedFile: config.FAIRLEAD_NATS_SEED_FILE,
    caFile: config.FAIRLEAD_NATS_CA_FILE,
    insecurePlaintext: config.FAIRLEAD_INSECURE_PLAINTEXT,
  };
}

function openDatabase(config: Config, logger: Logger): Database {
  return createDatabase({
    url: config.FAIRLEAD_DATABASE_URL_FILE.reveal(),
    caFile: config.FAIRLEAD_DATABASE_CA_FILE,
    insecurePlaintext: config.FAIRLEAD_INSECURE_PLAINTEXT,
    service: ROLE,
    entities: REGISTRATION_ENTITIES,
    migrations: REGISTRATION_MIGRATIONS,
    logger,
  });
}

function startHealth(
  config: Config,
  registry: Registry,
  readiness: () => readonly Check[],
): ReturnType<typeof startHealthServer> {
  return startHealthServer({ ...splitHostPort(config.FAIRLEAD_HEALTH_LISTEN), readiness, registry });
}
