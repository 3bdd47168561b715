import { prepareNatsCredentials } from './control-plane/nats-credentials.js';
import { DEFAULT_GATEWAYS } from './stack.js';
import { putSecret, secretOnce } from './state/secret-file.js';
import { openStateDir } from './state/state-dir.js';

export interface PreparedCredentials {
  /** The `authorization` block for a nats-server of the user's own. */
  readonly natsConfigPath: string;
  /** A superuser password for a Postgres of the user's own. */
  readonly postgresPasswordPath: string;
}

/**
 * Makes what servers that this stack does not start itself have to know, in the state directory: a NATS user for each
 * service and each gateway, a password for Postgres. May be repeated; what exists stays.
 */
export function prepareCredentials(
  stateDir: string,
  gateways: readonly string[] = DEFAULT_GATEWAYS,
): PreparedCredentials {
  using state = openStateDir(stateDir);
  const natsConfigPath = state.file('secrets', 'nats-authorization.conf');
  const postgresPasswordPath = state.file('secrets', 'postgres-password');
  putSecret(natsConfigPath, prepareNatsCredentials(state, gateways));
  secretOnce(postgresPasswordPath);
  return { natsConfigPath, postgresPasswordPath };
}
