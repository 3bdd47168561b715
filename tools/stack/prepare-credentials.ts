import { databaseAccessConfig } from './control-plane/databases.js';
import { LOCAL_NAMES, prepareInfrastructureTls } from './control-plane/infrastructure-tls.js';
import { prepareNatsCredentials } from './control-plane/nats-credentials.js';
import { DEFAULT_GATEWAYS } from './stack.js';
import { putSecret, secretOnce } from './state/secret-file.js';
import { openStateDir } from './state/state-dir.js';

export interface PrepareOptions {
  /** Names of the replicas. Default `gateway-a`, `gateway-b`. */
  readonly gateways?: readonly string[] | undefined;
  /** DNS names and addresses that the processes will reach nats-server by. Default: those of loopback. */
  readonly natsNames?: readonly string[] | undefined;
  /** The same for Postgres. */
  readonly postgresNames?: readonly string[] | undefined;
}

export interface PreparedCredentials {
  /** The `authorization` block for a nats-server of the user's own. */
  readonly natsConfigPath: string;
  /** A superuser password for a Postgres of the user's own. */
  readonly postgresPasswordPath: string;
  /** Its `pg_hba.conf`. */
  readonly postgresAccessPath: string;
  /** What every process trusts for both. */
  readonly caPath: string;
  /** The servers' certificates; their keys stand beside them. */
  readonly certificatePaths: readonly string[];
}

/**
 * Makes what servers that this stack does not start itself have to know, in the state directory: a NATS user for each
 * service and each gateway, a password and the access rules for Postgres, and a certificate for either server. May be
 * repeated; what exists stays, but for certificates that are due or have other names.
 */
export async function prepareCredentials(stateDir: string, options: PrepareOptions = {}): Promise<PreparedCredentials> {
  using state = openStateDir(stateDir);
  const { gateways = DEFAULT_GATEWAYS, natsNames = LOCAL_NAMES, postgresNames = LOCAL_NAMES } = options;
  const natsConfigPath = state.file('secrets', 'nats-authorization.conf');
  const postgresPasswordPath = state.file('secrets', 'postgres-password');
  const postgresAccessPath = state.file('secrets', 'pg_hba.conf');
  putSecret(natsConfigPath, prepareNatsCredentials(state, gateways));
  secretOnce(postgresPasswordPath);
  putSecret(postgresAccessPath, databaseAccessConfig());
  const { nats, postgres } = await prepareInfrastructureTls(state, { nats: natsNames, postgres: postgresNames });
  const certificatePaths = [nats.certFile, postgres.certFile];
  return { natsConfigPath, postgresPasswordPath, postgresAccessPath, caPath: nats.caFile, certificatePaths };
}
