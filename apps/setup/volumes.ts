import { readdir } from 'node:fs/promises';
import { SERVICE_NAMES } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import { createFolderStore, giveFolder, makeSecrets, type FolderStore } from '@fairlead/setup';
import type { VolumesConfig } from './config.js';

/** Copies in volumes of those who need a part of a Secret: of the services', `servers` has the database's URL alone, and the tour has a token. */
const [SERVERS, TOUR] = ['fairlead-setup-servers', 'fairlead-tour'];

/**
 * Makes Secrets that are missing as folders, each to be mounted into one container, and gives each folder for
 * data to whoever writes there.
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
  await store.putSecretFiles(SERVERS, await copied(store, FOR_SERVERS));
  await store.putSecretFiles(TOUR, await copied(store, [['fairlead-access', 'admin-token', 'admin-token']]));
  for (const name of await readdir(`${dir}/data`))
    await giveFolder(`${dir}/data/${name}`, name === 'postgres' ? postgres : ours);
  logger.info('setup.volumes.made', { secrets: made });
}

type Copy = readonly [secret: string, from: string, to: string];

const FOR_SERVERS: readonly Copy[] = [
  ['fairlead-nats-operator', 'nats.seed', 'operator.seed'],
  ['fairlead-postgres-admin', 'password', 'postgres.password'],
  ...SERVICE_NAMES.map((name): Copy => [`fairlead-${name}`, 'database.url', `${name}.database.url`]),
];

async function copied(store: FolderStore, copies: readonly Copy[]): Promise<Readonly<Record<string, string>>> {
  const files: [string, string][] = [];
  for (const [secret, from, to] of copies) {
    const text = (await store.readSecret(secret))?.[from];
    if (text === undefined) throw new FairleadError('NOT_FOUND', `the Secret ${secret} has no ${from}`);
    files.push([to, text]);
  }
  return Object.fromEntries(files);
}
