import { runProcess } from '@fairlead/config';
import { accessFromPod, createKubeApi } from '@fairlead/kube/rest';
import type { Logger } from '@fairlead/observability';
import { createObjectStore, makeSecrets, setUpServers } from '@fairlead/setup';
import {
  readDatabaseUrls,
  readSecretsConfig,
  readServersConfig,
  readVolumesConfig,
  type SecretsConfig,
  type ServersConfig,
} from './config.js';
import { makeVolumes } from './volumes.js';

/** How long it waits for servers that are starting; Kubernetes then tries again. */
const SERVERS_MS = 300_000;

if (process.argv[2] === 'servers') {
  const commands = { servers: servers };
  void runProcess({ name: 'setup', readConfig: readServersConfig, run: servers, commands });
} else if (process.argv[2] === 'volumes') {
  const commands = { volumes: makeVolumes };
  void runProcess({ name: 'setup', readConfig: readVolumesConfig, run: makeVolumes, commands });
} else {
  const commands = { secrets: secrets };
  void runProcess({ name: 'setup', readConfig: readSecretsConfig, run: secrets, commands });
}

async function secrets(config: SecretsConfig, logger: Logger): Promise<void> {
  const access = await accessFromPod({
    host: config.KUBERNETES_SERVICE_HOST,
    port: config.KUBERNETES_SERVICE_PORT,
    serviceAccountDir: config.FAIRLEAD_SERVICE_ACCOUNT_DIR,
  });
  using api = createKubeApi({ access, userAgent: 'fairlead-setup' });
  const [first, ...others] = config.FAIRLEAD_POSTGRES_NAMES;
  const made = await makeSecrets(createObjectStore(api, config.FAIRLEAD_NAMESPACE), {
    gateways: config.FAIRLEAD_GATEWAYS,
    natsNames: config.FAIRLEAD_NATS_NAMES,
    postgresNames: [first!, ...others],
  });
  logger.info('setup.secrets.made', { secrets: made });
}

async function servers(config: ServersConfig, logger: Logger, signal: AbortSignal): Promise<void> {
  await setUpServers({
    natsUrl: config.FAIRLEAD_NATS_URL,
    caFile: config.FAIRLEAD_NATS_CA_FILE,
    operatorSeedFile: config.FAIRLEAD_NATS_SEED_FILE,
    postgresAddress: config.FAIRLEAD_POSTGRES_ADDRESS,
    adminPassword: config.FAIRLEAD_POSTGRES_PASSWORD_FILE.reveal(),
    databaseUrls: readDatabaseUrls(config.FAIRLEAD_DATABASE_URL_DIR),
    logger,
    signal: AbortSignal.any([signal, AbortSignal.timeout(SERVERS_MS)]),
  });
  logger.info('setup.servers.ready');
}
