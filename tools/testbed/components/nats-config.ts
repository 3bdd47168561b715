import { join, resolve } from 'node:path';
import type { NatsOptions, ServerTls } from './contract.js';

const DEFAULT_STORE_BYTES = 1280 * 1024 ** 2;

/** The configuration file. Credentials stay in the file (0600), never in process arguments. */
export function natsConfig(
  options: NatsOptions,
  where: { listen: string; monitor: string; storeDir?: string; tls?: Pick<ServerTls, 'certFile' | 'keyFile'> },
): string {
  const store = where.storeDir ?? join(resolve(options.dataDir), 'jetstream');
  return [
    'server_name: "fairlead-testbed"',
    `listen: "${where.listen}"`,
    `http: "${where.monitor}"`,
    `jetstream { store_dir: ${JSON.stringify(store)}, max_file_store: ${options.maxStoreBytes ?? DEFAULT_STORE_BYTES} }`,
    options.authorizationConfig ?? '',
    ...(options.tls ? [tlsConfig(where.tls ?? options.tls)] : []),
    '',
  ].join('\n');
}

/** The first byte of a client is the handshake's: no INFO goes out, or is believed, before. */
function tlsConfig({ certFile, keyFile }: Pick<ServerTls, 'certFile' | 'keyFile'>): string {
  const [cert, key] = [certFile, keyFile].map((path) => JSON.stringify(resolve(path)));
  return `tls { cert_file: ${cert}, key_file: ${key}, min_version: "1.3", handshake_first: true }`;
}
