import { SERVICE_NAMES } from '@fairlead/contracts';
import { databaseAccess, databaseUrl, provisionDatabase } from '@fairlead/persistence';
import { putSecret, secretOnce } from '../state/secret-file.js';
import type { StateDir } from '../state/state-dir.js';
import { trustOf } from './infrastructure-tls.js';
import { databaseUrlFile } from './service-environments.js';

/** The server's `pg_hba.conf`: each service in its database only. */
export function databaseAccessConfig(): string {
  return databaseAccess({ services: SERVICE_NAMES });
}

/**
 * A role and a schema for each service, and a 0600 file with its URL. Passwords are made once; ports may change. `address`
 * is the `host:port` that services reach the server by, if it is not the administrator's.
 */
export async function prepareDatabases(state: StateDir, adminUrl: string, address?: string): Promise<void> {
  const services = SERVICE_NAMES.map((service) => ({
    service,
    password: secretOnce(state.file('secrets', `database-${service}.password`)),
  }));
  await provisionDatabase(adminUrl, { services, ...trustOf(state, adminUrl) });
  const reached = new URL(adminUrl);
  if (address !== undefined) reached.host = address;
  for (const account of services) {
    putSecret(databaseUrlFile(state, account.service), databaseUrl(reached.href, account));
  }
}
