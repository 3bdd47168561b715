import { splitHostPort, untilAborted } from '@fairlead/config';
import type { Caller } from '@fairlead/contracts';
import { OutboxRelay, Projection, recordForgedRequest } from '@fairlead/events';
import {
  CertificateIssuer,
  ClusterWatch,
  type BelongsTo,
  CurrentCa,
  type CurrentCaOptions,
  type CurrentEnrolment,
  KEYS_BUCKETS,
  KeysModule,
  ReplicaWatch,
  Revocations,
  Rotation,
  keepUp,
  openGitKeys,
  watchHostKeys,
  type GitKeys,
  type GitKeysOptions,
} from '@fairlead/keys';
import { connectNats, connectionState, serveRpc, type ConnectNatsOptions } from '@fairlead/messaging';
import { Registry, startHealthServer, type Check, type Logger } from '@fairlead/observability';
import { DatabaseMonitor, connectDatabase, retryWhileAway } from '@fairlead/persistence';
import type { Config } from './config.js';
import { ROLE, caOptions, openDatabase } from './database.js';

/** Serves until the signal; waits, visibly, for whatever is away at first. */
export async function serve(config: Config, logger: Logger, signal: AbortSignal): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const checks: (() => readonly Check[])[] = [];
  const registry = new Registry();
  stack.use(await startHealth(config, registry, () => checks.flatMap((check) => check())));
  let serving = false;
  checks.push(() => [{ name: 'ca', ok: serving, ...(serving ? {} : { detail: 'the CA is not loaded yet' }) }]);

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
  let projection: Projection | undefined;
  const onCommitted = (): void => {
    relay.poke();
    projection?.poke();
  };
  const open = (): Promise<CurrentCa> => CurrentCa.open(caOptions(config, { database, logger, onCommitted }));
  const ca = await retryWhileAway(open, logger, signal);
  const recoveryWindowSeconds = config.FAIRLEAD_RECOVERY_WINDOW_SECONDS;
  stack.use(keepUp(ca, { database, recoveryWindowSeconds }, logger));
  const replicas = stack.use(new ReplicaWatch(nats, logger));
  const clusters = stack.use(new ClusterWatch(nats, logger));
  const belongs: BelongsTo = (tenantId, clusterId) => clusters.belongs(tenantId, clusterId);
  const openGit = (): Promise<GitKeys> =>
    openGitKeys({ ...gitOptions(config), database, source, logger, onCommitted, ca, belongs });
  const git = await retryWhileAway(openGit, logger, signal);
  stack.use(git.startLoop());
  stack.use(watchHostKeys(git.hostKeys, { intervalMs: config.FAIRLEAD_HOST_KEY_SCAN_SECONDS * 1_000, logger }));
  const module = build(config, { database, source, logger, onCommitted }, { ca, replicas, clusters, git });
  projection = stack.use(new Projection({ database, nats, logger, buckets: KEYS_BUCKETS }));
  const onForged = (subject: string): void => recordForgedRequest({ database, source, logger, relay }, subject);
  stack.use(await serveRpc(module, { connection: nats, queue: ROLE, logger, registry, onForged }));
  serving = true;
  logger.info('process.ready', { pins: (await ca.trustBundle()).pins });
  await untilAborted(signal);
  logger.info('process.stopping');
}

function natsOf(config: Config): Omit<ConnectNatsOptions, 'role' | 'credential' | 'logger'> {
  return {
    url: config.FAIRLEAD_NATS_URL,
    seedFile: config.FAIRLEAD_NATS_SEED_FILE,
    caFile: config.FAIRLEAD_NATS_CA_FILE,
    insecurePlaintext: config.FAIRLEAD_INSECURE_PLAINTEXT,
  };
}

type Runtime = Pick<CurrentCaOptions, 'database' | 'source' | 'logger' | 'onCommitted'>;

function gitOptions(config: Config): Pick<GitKeysOptions, 'leafLifeSeconds' | 'deployKeysEveryMs'> {
  return {
    leafLifeSeconds: config.FAIRLEAD_CERTIFICATE_TTL_SECONDS,
    deployKeysEveryMs: config.FAIRLEAD_DEPLOY_KEY_CHECK_SECONDS * 1_000,
  };
}

interface Parts {
  readonly ca: CurrentCa;
  readonly replicas: ReplicaWatch;
  readonly clusters: ClusterWatch;
  readonly git: GitKeys;
}

function build(
  config: Config,
  runtime: Runtime,
  { ca, replicas, clusters, git }: Parts,
): ReturnType<typeof KeysModule.around> {
  const recoveryWindowSeconds = config.FAIRLEAD_RECOVERY_WINDOW_SECONDS;
  const servingNames = { api: config.FAIRLEAD_API_SERVING_NAMES, gateway: config.FAIRLEAD_GATEWAY_SERVING_NAMES };
  const behind = (version: number): ReturnType<ReplicaWatch['behind']> => replicas.behind(version);
  const currentEnrolment: CurrentEnrolment = (tenantId, clusterId) => clusters.currentEnrolment(tenantId, clusterId);
  return KeysModule.around(
    new CertificateIssuer({ ...runtime, ca, servingNames, recoveryWindowSeconds, currentEnrolment }),
    new Revocations({ ...runtime, ca }),
    new Rotation({ ...runtime, ca, behind, recoveryWindowSeconds }),
    git,
  );
}

function startHealth(
  config: Config,
  registry: Registry,
  readiness: () => readonly Check[],
): ReturnType<typeof startHealthServer> {
  return startHealthServer({ ...splitHostPort(config.FAIRLEAD_HEALTH_LISTEN), readiness, registry });
}
