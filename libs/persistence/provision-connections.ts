import { FairleadError, messageOf } from '@fairlead/errors';
import { explainTlsFailure } from '@fairlead/pki';
import { Client, DatabaseError } from 'pg';
import { databaseConnection, explainDatabaseFailure } from './database-server.js';

/** SQLSTATE classes of a server that may answer in a moment: it starts or stops, or has no room. */
const PASSING = /^(08|53|57)/;

export interface ConnectionsOptions {
  /** As in `DatabaseServer`. */
  readonly caFile?: string | undefined;
  /** For connecting, for each statement, and for the end. */
  readonly timeoutMs: number;
}

/**
 * Does something over connections that all stay open until it is done. One that ends is often reset: Postgres is gone when TLS says its last
 * word. `kubectl port-forward` ends with the first reset, and takes with it whatever is still to come.
 *
 * Throws UNAVAILABLE where the server cannot be reached or the connection breaks off, UNTRUSTED_PEER where it is not the right one, INTERNAL for what
 * it refuses, each with what was dialled and what to do; and what `databaseConnection` throws.
 */
export async function overConnections(
  options: ConnectionsOptions,
  work: (connect: (url: string) => Promise<Client>) => Promise<void>,
): Promise<void> {
  const opened: Client[] = [];
  try {
    await work(async (url) => {
      const client = clientFor(url, options);
      opened.push(client);
      await connectTo(client, options.timeoutMs);
      return client;
    });
  } catch (error) {
    throw explained(opened.at(-1), error);
  } finally {
    await Promise.all(opened.map((client) => endOf(client, options.timeoutMs)));
  }
}

function clientFor(adminUrl: string, { caFile, timeoutMs }: ConnectionsOptions): Client {
  const { url, ssl } = databaseConnection({ url: adminUrl, caFile });
  const client = new Client({
    connectionString: url,
    ssl,
    application_name: 'fairlead-provision',
    query_timeout: timeoutMs,
  });
  // A loss between two statements would end the process, if nobody listened. The next statement fails by itself.
  client.on('error', () => undefined);
  return client;
}

/** Our own limit, not the driver's: that is told in its words, and a timer may end a moment before the clock says so. */
async function connectTo(client: Client, timeoutMs: number): Promise<void> {
  const late = new Error(`it did not answer within ${timeoutMs / 1_000} s`);
  const timer = setTimeout(() => client.connection.stream.destroy(late), timeoutMs);
  try {
    await client.connect();
  } finally {
    clearTimeout(timer);
  }
}

/** Politely, but without waiting for a server that has gone silent. */
async function endOf(client: Client, timeoutMs: number): Promise<void> {
  const { promise: waited, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, timeoutMs);
  await Promise.race([client.end(), waited]);
  clearTimeout(timer);
  client.connection.stream.destroy();
}

function explained(client: Client | undefined, error: unknown): unknown {
  if (error instanceof FairleadError || !client) return error;
  const what = `cannot provision Postgres at ${client.host}:${client.port}`;
  const told = (code: 'INTERNAL' | 'UNTRUSTED_PEER' | 'UNAVAILABLE', why: string): FairleadError =>
    new FairleadError(code, `${what}: ${why}`, { cause: error });
  if (error instanceof DatabaseError && !PASSING.test(error.code ?? '')) {
    return told('INTERNAL', `it refuses: ${error.message}; put that right, and repeat`);
  }
  if (explainTlsFailure(error, undefined) !== undefined) {
    return told('UNTRUSTED_PEER', `${explainDatabaseFailure(error)}; check the address and the CA file`);
  }
  const again = 'see whether it can be reached from here, and repeat: what was done so far does no harm';
  return told('UNAVAILABLE', `${lossOf(error)}; ${again}`);
}

/** Of several addresses that were all tried, Node says nothing but the code. */
function lossOf(error: unknown): string {
  return messageOf(error) || ((error as NodeJS.ErrnoException).code ?? 'the connection failed');
}
