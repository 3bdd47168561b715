import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';
import { escapeIdentifier, escapeLiteral, type Client } from 'pg';
import { overConnections } from './provision-connections.js';

const SCRAM_ITERATIONS = 4096;

const TIMEOUT_MS = 10_000;
const NAME = /^[a-z][a-z0-9_]{0,30}$/;
/** Anything, as long as two who provision at once use the same. */
const LOCK_KEY = 7_346_021;

export interface ServiceAccount {
  /** Name of the role and of its schema. */
  readonly service: string;
  readonly password: string;
}

export interface ProvisionDatabaseOptions {
  /** Default `fairlead`. */
  readonly database?: string;
  readonly services: readonly ServiceAccount[];
  /** As in `DatabaseServer`. */
  readonly caFile?: string | undefined;
  /** For connecting, and for each statement; default 10,000. */
  readonly timeoutMs?: number;
}

/**
 * Creates the database, and for each service a role and a schema that only this role can use. May be repeated: it sets the
 * passwords to those given. One connection does where the URL names that database, which exists then; else a second one, as
 * Postgres makes a database from another one only, and schemas only from within.
 *
 * Throws INVALID_ARGUMENT for a name that is not a plain identifier, and for a URL or CA file that `databaseConnection` refuses;
 * else as `overConnections`.
 */
export async function provisionDatabase(adminUrl: string, options: ProvisionDatabaseOptions): Promise<void> {
  const database = options.database ?? 'fairlead';
  for (const name of [database, ...options.services.map(({ service }) => service)]) {
    if (!NAME.test(name)) throw new FairleadError('INVALID_ARGUMENT', `not a name for a role or database: ${name}`);
  }
  for (const { service, password } of options.services) {
    if (!/^[\x21-\x7e]{16,}$/.test(password)) {
      throw new FairleadError('INVALID_ARGUMENT', `the password of ${service} needs 16 or more ASCII characters`);
    }
  }
  const { services, caFile, timeoutMs = TIMEOUT_MS } = options;
  await overConnections({ caFile, timeoutMs }, async (connect) => {
    const first = await connect(adminUrl);
    if (await isWithin(first, database)) return prepareWithin(first, database, services);
    await createDatabase(first, database);
    return prepareWithin(await connect(withDatabase(adminUrl, database)), database, services);
  });
}

/** The URL that a service connects with. */
export function databaseUrl(adminUrl: string, account: ServiceAccount, database = 'fairlead'): string {
  const url = new URL(withDatabase(adminUrl, database));
  url.username = account.service;
  url.password = encodeURIComponent(account.password);
  return url.href;
}

async function isWithin(client: Client, database: string): Promise<boolean> {
  const { rows } = await client.query<{ name: string }>('select current_database() as name');
  return rows[0]?.name === database;
}

/** Under a lock, so that of two who provision at once one makes it, and the other finds it. */
async function createDatabase(client: Client, database: string): Promise<void> {
  await client.query('select pg_advisory_lock($1)', [LOCK_KEY]);
  const existing = await client.query('select 1 from pg_database where datname = $1', [database]);
  if (existing.rowCount === 0) await client.query(`create database ${escapeIdentifier(database)}`);
  // The connection outlives its use: see `overConnections`.
  await client.query('select pg_advisory_unlock($1)', [LOCK_KEY]);
}

/** Under a lock of this database, which the end of the connection ends. */
async function prepareWithin(client: Client, database: string, services: readonly ServiceAccount[]): Promise<void> {
  await client.query('select pg_advisory_lock($1)', [LOCK_KEY]);
  await client.query(`revoke all on database ${escapeIdentifier(database)} from public`);
  for (const account of services) await createRole(client, database, account);
  await createSchemas(client, services);
}

async function createRole(client: Client, database: string, { service, password }: ServiceAccount): Promise<void> {
  const role = escapeIdentifier(service);
  const existing = await client.query('select 1 from pg_roles where rolname = $1', [service]);
  if (existing.rowCount === 0) await client.query(`create role ${role}`);
  await client.query(
    `alter role ${role} with login nocreatedb nocreaterole password ${escapeLiteral(scramVerifier(password))}`,
  );
  await client.query(`grant connect on database ${escapeIdentifier(database)} to ${role}`);
  // An administrator who is no superuser may create a schema only for a role that it is a member of.
  await client.query(`grant ${role} to current_user`);
}

async function createSchemas(client: Client, services: readonly ServiceAccount[]): Promise<void> {
  await client.query('revoke all on schema public from public');
  for (const { service } of services) {
    const role = escapeIdentifier(service);
    await client.query(`create schema if not exists ${role} authorization ${role}`);
    await client.query(`revoke all on schema ${role} from public`);
  }
}

function withDatabase(url: string, database: string): string {
  const target = new URL(url);
  target.pathname = `/${database}`;
  return target.href;
}

/**
 * What Postgres stores for a password (RFC 5803): set a role's password to this and the password itself never stands in a
 * statement, nor in the server's log. ASCII passwords only, so that no SASLprep is needed.
 */
function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, SCRAM_ITERATIONS, 32, 'sha256');
  const clientKey = createHmac('sha256', salted).update('Client Key').digest();
  const storedKey = createHash('sha256').update(clientKey).digest('base64');
  const serverKey = createHmac('sha256', salted).update('Server Key').digest('base64');
  return `SCRAM-SHA-256$${SCRAM_ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}
