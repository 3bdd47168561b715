import {
  StatementRevocationLists,
  AccessStatementSigner,
  AuditCheckpoints,
  CheckpointFiles,
  CertificateIssuer,
  ClusterWatch,
  CurrentCa,
  KEYS_BUCKETS,
  KeysModule,
  LinkEndpoints,
  ReplicaWatch,
  Revocations,
  Rotation,
  SubscriberGate,
  WebhookSecrets,
  keepUp,
  meterCertificates,
  openGitKeys,
  watchHostKeys,
  type BelongsTo,
  type CurrentCaOptions,
  type CurrentEnrolment,
  type GitKeys,
  type GitKeysOptions,
} from '@fairlead/keys';
import { readSeedFile } from '@fairlead/messaging';
import { Counter } from '@fairlead/observability';
import type { RpcModule, ServiceDefinition, ServiceHost } from '@fairlead/service';
import { SCHEMA, caOptions } from './ca-options.js';
import { readConfig, type Config } from './config.js';
import { rotateServingCommand } from './rotate-serving-root.js';
import { rewrapCommand } from './rewrap-master-key.js';
import { importCommand, issuingCsrCommand, raiseTrustCommand } from './import-ca.js';

export const keys: ServiceDefinition<Config> = {
  ...SCHEMA,
  readConfig,
  prepare(config) {
    const loaded = { name: 'ca', ok: false, detail: 'the CA is not loaded yet' };
    let trust: CurrentCa['trustBundle'];
    return {
      readiness: () => [loaded],
      async start(host) {
        const options = caOptions(config, host);
        const ca = await host.retryWhileAway(() => CurrentCa.open(options));
        trust = () => ca.trustBundle();
        return start(config, host, ca);
      },
      async onServing() {
        Object.assign(loaded, { ok: true, detail: undefined });
        return { pins: (await trust()).pins };
      },
    };
  },
  commands: {
    'import-ca': importCommand,
    'issuing-csr': issuingCsrCommand,
    'raise-trust': raiseTrustCommand,
    'rewrap-master-key': rewrapCommand,
    'rotate-serving-root': rotateServingCommand,
  },
};

async function start(config: Config, host: ServiceHost, ca: CurrentCa): Promise<RpcModule> {
  const { database, source, logger, onCommitted, nats } = host;
  const recoveryWindowSeconds = config.FAIRLEAD_RECOVERY_WINDOW_SECONDS;
  host.use(keepUp(ca, { database, recoveryWindowSeconds }, logger));
  host.use(meterCertificates({ ca, database, registry: host.registry, logger }));
  const replicas = host.use(new ReplicaWatch(nats, logger));
  const clusters = host.use(new ClusterWatch(nats, logger));
  const belongs: BelongsTo = (tenantId, clusterId) => clusters.belongs(tenantId, clusterId);
  const openGit = (): Promise<GitKeys> =>
    openGitKeys({ ...gitOptions(config), database, source, logger, onCommitted, ca, belongs });
  const git = await host.retryWhileAway(openGit);
  host.use(git.startLoop());
  host.use(watchHostKeys(git.hostKeys, { intervalMs: config.FAIRLEAD_HOST_KEY_SCAN_SECONDS * 1_000, logger }));
  const statementRevocations = new StatementRevocationLists({ database, ca, logger, onCommitted });
  host.use(statementRevocations.startRenewing());
  host.use(gate(config, host));
  const parts = { ca, replicas, clusters, git, statementRevocations };
  const module = build(config, { database, source, logger, onCommitted }, parts);
  host.project(KEYS_BUCKETS);
  return module;
}

function gate(config: Config, { nats, source, logger, registry }: ServiceHost): SubscriberGate {
  const decided = new Counter({
    name: 'fairlead_subscriber_connections_total',
    help: 'Connections to NATS that were let in as those of subscribers, turned away, or cut off',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const seed = readSeedFile(config.FAIRLEAD_NATS_SEED_FILE);
  return new SubscriberGate({
    nats,
    seed,
    role: source.role,
    logger,
    onDecided: (outcome) => decided.inc({ outcome }),
  });
}

function gitOptions(config: Config): Pick<GitKeysOptions, 'leafLifeSeconds' | 'deployKeysEveryMs'> {
  return {
    leafLifeSeconds: config.FAIRLEAD_CERTIFICATE_TTL_SECONDS,
    deployKeysEveryMs: config.FAIRLEAD_DEPLOY_KEY_CHECK_SECONDS * 1_000,
  };
}

type Runtime = Pick<CurrentCaOptions, 'database' | 'source' | 'logger' | 'onCommitted'>;

interface Parts {
  readonly ca: CurrentCa;
  readonly replicas: ReplicaWatch;
  readonly clusters: ClusterWatch;
  readonly git: GitKeys;
  readonly statementRevocations: StatementRevocationLists;
}

function build(
  config: Config,
  runtime: Runtime,
  { ca, replicas, clusters, git, statementRevocations }: Parts,
): RpcModule {
  const recoveryWindowSeconds = config.FAIRLEAD_RECOVERY_WINDOW_SECONDS;
  const servingNames = { api: config.FAIRLEAD_API_SERVING_NAMES, gateway: config.FAIRLEAD_GATEWAY_SERVING_NAMES };
  const behind = (version: number): ReturnType<ReplicaWatch['behind']> => replicas.behind(version);
  const belongs: BelongsTo = (tenantId, clusterId) => clusters.belongs(tenantId, clusterId);
  const dir = config.FAIRLEAD_AUDIT_CHECKPOINTS_DIR;
  const files =
    dir === undefined ? undefined : new CheckpointFiles({ dir, logger: runtime.logger, now: () => ca.now() });
  const currentEnrolment: CurrentEnrolment = (tenantId, clusterId) => clusters.currentEnrolment(tenantId, clusterId);
  return KeysModule.around(
    {
      issuer: new CertificateIssuer({ ...runtime, ca, servingNames, recoveryWindowSeconds, currentEnrolment }),
      revocations: new Revocations({ ...runtime, ca }),
      rotation: new Rotation({ ...runtime, ca, behind, recoveryWindowSeconds }),
      endpoints: new LinkEndpoints({ ...runtime, ca, recoveryWindowSeconds }),
      accessStatements: new AccessStatementSigner({ ...runtime, ca, belongs }),
      statementRevocations,
      auditCheckpoints: new AuditCheckpoints({ ...runtime, ca, files }),
      webhookSecrets: new WebhookSecrets({ database: runtime.database, ca }),
    },
    git,
  );
}
