import { join, resolve } from 'node:path';
import type { NatsOptions } from './contract.js';

const DEFAULT_STORE_BYTES = 1024 ** 3;

/** The configuration file. Credentials stay in the file (0600), never in process arguments. */
export function natsConfig(
  options: NatsOptions,
  where: { listen: string; monitor: string; storeDir?: string },
): string {
  const store = where.storeDir ?? join(resolve(options.dataDir), 'jetstream');
  return [
    'server_name: "fairlead-testbed"',
    `listen: "${where.listen}"`,
    `http: "${where.monitor}"`,
    `jetstream { store_dir: ${JSON.stringify(store)}, max_file_store: ${options.maxStoreBytes ?? DEFAULT_STORE_BYTES} }`,
    options.authorizationConfig ?? '',
    '',
  ].join('\n');
}
