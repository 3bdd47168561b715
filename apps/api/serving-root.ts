import { NO_TENANT, keysRpc } from '@fairlead/contracts';
import { connectNats, createRpcClient } from '@fairlead/messaging';
import { silentLogger, type Logger } from '@fairlead/observability';
import type { ApiConfig } from './config.js';

const DEADLINE_MS = 30_000;

/**
 * Prints the root of the certificates that people's tools see, PEM: for whoever has no other way to know it, such as an administrator who may
 * run a command in this container. It stands on standard output between the lines of the log.
 */
export async function printServingRoot(config: ApiConfig, _logger: Logger, stop: AbortSignal): Promise<void> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(DEADLINE_MS)]);
  const caller = { role: 'api', credential: config.FAIRLEAD_CREDENTIAL } as const;
  const { FAIRLEAD_NATS_URL: url, FAIRLEAD_NATS_SEED_FILE: seedFile, FAIRLEAD_NATS_CA_FILE: caFile } = config;
  const trust = caFile === undefined ? {} : { caFile };
  const connection = await connectNats({ ...caller, url, seedFile, ...trust, logger: silentLogger, signal });
  try {
    const { servingRoot } = await createRpcClient(connection, caller).call(
      keysRpc.trustBundle,
      NO_TENANT,
      {},
      { signal },
    );
    process.stdout.write(servingRoot);
  } finally {
    await connection.close();
  }
}
