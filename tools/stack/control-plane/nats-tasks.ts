import { NO_TENANT, keysRpc } from '@fairlead/contracts';
import { connectNats, createRpcClient, provisionJetStream, type Holder } from '@fairlead/messaging';
import { silentLogger } from '@fairlead/observability';
import { OPERATOR } from '@fairlead/setup';
import type { StateDir } from '../state/state-dir.js';
import { trustOf } from './infrastructure-tls.js';
import { seedFile } from './nats-credentials.js';

const CONNECT_DEADLINE_MS = 30_000;

type Connection = Awaited<ReturnType<typeof connectNats>>;

/** Creates the streams and buckets, or brings them up to date. */
export function provisionNats(state: StateDir, url: string, signal: AbortSignal): Promise<void> {
  return withNats(state, url, OPERATOR, signal, (connection) => provisionJetStream(connection));
}

/** The root of the certificates that people's tools see, asked of the keys service itself as the API would. */
export function readServingRoot(state: StateDir, url: string, signal: AbortSignal): Promise<string> {
  const caller = { role: 'api', credential: 'api' } as const;
  return withNats(state, url, caller, signal, async (connection) => {
    const bundle = await createRpcClient(connection, caller).call(keysRpc.trustBundle, NO_TENANT, {}, { signal });
    return bundle.servingRoot;
  });
}

async function withNats<T>(
  state: StateDir,
  url: string,
  holder: Holder,
  signal: AbortSignal,
  use: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await connectNats({
    url,
    ...trustOf(state, url),
    seedFile: seedFile(state, holder.credential),
    ...holder,
    logger: silentLogger,
    signal: AbortSignal.any([signal, AbortSignal.timeout(CONNECT_DEADLINE_MS)]),
  });
  try {
    return await use(connection);
  } finally {
    await connection.close();
  }
}
