import { FairleadError } from '@fairlead/errors';

const NAME = /^[a-z][a-z0-9_]{0,30}$/;

export interface DatabaseAccessOptions {
  /** Default `fairlead`. */
  readonly database?: string;
  /** Roles of the services. */
  readonly services: readonly string[];
  /** Who provisions; may use every database. Default `postgres`. */
  readonly admin?: string;
}

/**
 * A `pg_hba.conf` that admits each service to the one database, by TLS and password, and nobody without TLS. Source:
 * https://www.postgresql.org/docs/current/auth-pg-hba-conf.html (the first line that fits decides). Throws INVALID_ARGUMENT for a
 * name that is not a plain identifier.
 */
export function databaseAccess({ database = 'fairlead', services, admin = 'postgres' }: DatabaseAccessOptions): string {
  for (const name of [database, admin, ...services]) {
    if (!NAME.test(name)) throw new FairleadError('INVALID_ARGUMENT', `not a name for a role or database: ${name}`);
  }
  return [
    'local     all  all  scram-sha-256',
    'hostnossl all  all  all  reject',
    `hostssl   all  ${admin}  all  scram-sha-256`,
    `hostssl   ${database}  ${services.join(',')}  all  scram-sha-256`,
    '',
  ].join('\n');
}
