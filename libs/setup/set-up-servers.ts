import { SERVICE_NAMES, type Service } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { connectNats, provisionJetStream } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import { provisionDatabase, retryWhileAway } from '@fairlead/persistence';
import { OPERATOR } from './nats-holders.js';

export interface ServersToSetUp {
  readonly natsUrl: string;
  /** PEM of the CA of both servers' certificates. */
  readonly caFile: string;
  readonly operatorSeedFile: string;
  /** `host:port` of Postgres. */
  readonly postgresAddress: string;
  readonly adminPassword: string;
  /** What each service connects with: its password is set to the one in there. */
  readonly databaseUrls: Readonly<Record<Service, string>>;
  readonly logger: Logger;
  /** Ends the wait for servers that do not answer yet. */
  readonly signal: AbortSignal;
}

/**
 * Creates streams and buckets on NATS, and in Postgres the database with a role and a schema for each service, or brings them up to date. Waits
 * for both servers until the signal. INVALID_ARGUMENT for a URL that is not its service's.
 */
export async function setUpServers(servers: ServersToSetUp): Promise<void> {
  const services = SERVICE_NAMES.map((service) => accountOf(service, servers.databaseUrls[service]));
  const { caFile, logger, signal, natsUrl: url, operatorSeedFile: seedFile } = servers;
  const connection = await connectNats({ ...OPERATOR, url, seedFile, caFile, logger, signal });
  try {
    await provisionJetStream(connection);
  } finally {
    await connection.close();
  }
  const admin = new URL(`postgres://postgres@${servers.postgresAddress}/postgres?sslmode=verify-full`);
  admin.password = encodeURIComponent(servers.adminPassword);
  await retryWhileAway(() => provisionDatabase(admin.href, { services, caFile }), logger, signal);
}

function accountOf(service: Service, url: string): { service: Service; password: string } {
  const { username, password } = URL.parse(url.trim()) ?? { username: '', password: '' };
  if (username === service && password !== '') return { service, password: decodeURIComponent(password) };
  throw new FairleadError('INVALID_ARGUMENT', `the database URL of ${service} is not that of its role`);
}
