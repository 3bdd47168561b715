import { SERVICE_NAMES } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import { createFolderStore, giveFolder, makeSecrets, type FolderStore } from '@fairlead/setup';
import type { VolumesConfig } from './config.js';

/** What `servers` has in its own volume: copies, and of the services' Secrets the database's URL alone. */
const SERVERS = 'fairlead-setup-servers';

/**
 * Makes Secrets that are missing as folders, each to be mounted into one container, and gives Postgres and nats-server the folders of their data.
 * NOT_FOUND that names the folder where no volume is mounted; else errors as `makeSecrets`.
 */
export async function makeVolumes(config: VolumesConfig, logger: Logger): Promise<void> {
  const { FAIRLEAD_VOLUMES_DIR: dir, FAIRLEAD_PROCESS_UID: ours, FAIRLEAD_POSTGRES_UID: postgres } = config;
  const ownerOf = (secret: string): number | undefined => (secret.startsWith('fairlead-postgres-') ? postgres : ours);
  const store = createFolderStore({ dir, ownerOf });
  const [first, ...others] = config.FAIRLEAD_POSTGRES_NAMES;
  const made = await makeSecrets(store, {
    gateways: config.FAIRLEAD_GATEWAYS,
    natsNames: config.FAIRLEAD_NATS_NAMES,
    postgresNames: [first!, ...others],
  });
  await store.putSecretFiles(SERVERS, await filesOfServers(store));
  await giveFolder(`${dir}/data/nats`, ours);
  await giveFolder(`${dir}/data/postgres`, postgres);
  logger.info('setup.volumes.made', { secrets: made });
}

async function filesOfServers(store: FolderStore): Promise<Readonly<Record<string, string>>> {
  const copies = [
    ['fairlead-nats-operator', 'nats.seed', 'operator.seed'],
    ['fairlead-postgres-admin', 'password', 'postgres.password'],
    ...SERVICE_NAMES.map((name) => [`fairlead-${name}`, 'database.url', `${name}.database.url`]),
  ] as const;
  const files: [string, string][] = [];
  for (const [secret = '', from = '', to = ''] of copies) {
    const text = (await store.readSecret(secret))?.[from];
    if (text === undefined) throw new FairleadError('NOT_FOUND', `the Secret ${secret} has no ${from}`);
    files.push([to, text]);
  }
  return Object.fromEntries(files);
}
